internal import Bytes
internal import JSONText

/// `integer-text`: converts between `"42"` and `42`.
struct IntegerText: PairCodec {
    static let name = "integer-text"

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) { try CodecRegistry.refuseArguments(arguments, Self.name) }

    func words(_ direction: Direction) -> String { "a text <-> its value" }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(Shape(.integer), also: [.number]) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, let number = WrittenNumber(content), number.fraction.isEmpty,
            !number.isNegative || !number.isZero(in: content)
        else { throw CodecRefusal(expected: "the text of an integer") }
        let zeros = number.leadingZeros(in: content)
        if number.isNegative { output.append(UInt8(ascii: "-")) }
        output.append(content.slice(number.whole.lowerBound + zeros, number.whole.count - zeros))
        return zeros == 0 && !number.hasPlus
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        output.append(UInt8(ascii: "\""))
        let isCanonical = try appendInteger(content, kind, into: &output)
        output.append(UInt8(ascii: "\""))
        return isCanonical
    }
}

/// Appends an integer's digits without point and exponent. Returns whether the input was already in that form.
func appendInteger(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
    if kind == .number, let number = WrittenNumber(content), number.fraction.isEmpty, !number.isNegative || !number.isZero(in: content) {
        output.append(content)
        return true
    }
    try integer(content, kind).append(to: &output)
    return false
}

/// The integer that a number's text denotes in any spelling.
func integer(_ content: RawSpan, _ kind: JSONKind) throws(CodecRefusal) -> DecimalNumber {
    guard kind == .number else { throw CodecRefusal(expected: "an integer") }
    guard let number = DecimalNumber(json: content) else {
        throw CodecRefusal(expected: "an integer with \(DecimalNumber.exponents)")
    }
    guard number.isInteger else { throw CodecRefusal(expected: "an integer") }
    return number
}

/// `number-text`: converts between `"2.50"` and `2.50`; the digits are preserved.
struct NumberText: PairCodec {
    static let name = "number-text"

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) { try CodecRegistry.refuseArguments(arguments, Self.name) }

    func words(_ direction: Direction) -> String { "a text <-> its value" }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(Shape(.number)) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        let refusal = CodecRefusal(expected: "the text of a number")
        guard kind == .string else { throw refusal }
        if let number = WrittenNumber(content) {
            guard !number.isNegative || !number.isZero(in: content) else { throw refusal }
            let zeros = number.leadingZeros(in: content)
            if number.isNegative { output.append(UInt8(ascii: "-")) }
            let start = number.whole.lowerBound + zeros
            output.append(content.slice(start, content.byteCount - start))
            return zeros == 0 && !number.hasPlus
        }
        guard let number = DecimalNumber(json: content), !number.isZero else { throw refusal }
        output.append(content)
        return true
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .number else { throw CodecRefusal(expected: "a number") }
        let isNegativeZero = content.byte(at: 0) == UInt8(ascii: "-") && DecimalNumber(json: content)?.isZero == true
        output.append(UInt8(ascii: "\""))
        if isNegativeZero { output.append(UInt8(ascii: "0")) } else { output.append(content) }
        output.append(UInt8(ascii: "\""))
        return !isNegativeZero
    }
}

/// `boolean-text`: converts between `"true"` and `true`.
struct BooleanText: PairCodec {
    static let name = "boolean-text"

    private static let words = [Array("true".utf8), Array("false".utf8)]

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) { try CodecRegistry.refuseArguments(arguments, Self.name) }

    func words(_ direction: Direction) -> String { "a text <-> its value" }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(Shape(.boolean)) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string else { throw CodecRefusal(expected: "\"true\" or \"false\"") }
        for word in Self.words where isSpelled(content, word) {
            output.append(word)
            return content.equals(word.lent)
        }
        throw CodecRefusal(expected: "\"true\" or \"false\"")
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .true || kind == .false else { throw CodecRefusal(expected: "true or false") }
        output.append(UInt8(ascii: "\""))
        output.append(content)
        output.append(UInt8(ascii: "\""))
        return true
    }

    /// Whether the content is the word in letters of any case.
    private func isSpelled(_ content: RawSpan, _ word: [UInt8]) -> Bool {
        content.byteCount == word.count && word.indices.allSatisfy { content.byte(at: $0) | 0x20 == word[$0] }
    }
}
