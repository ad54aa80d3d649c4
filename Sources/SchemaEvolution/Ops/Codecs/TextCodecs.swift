internal import Bytes
internal import JSONText

/// `integer-text`: converts between `"42"` and `42`.
struct IntegerText: PlainCodec {
    static let name = "integer-text"

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
        try appendInteger(content, kind, into: &output)
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
struct NumberText: PlainCodec {
    static let name = "number-text"

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
        if isNegativeZero { output.append(UInt8(ascii: "0")) } else { output.append(content) }
        return !isNegativeZero
    }
}

/// `boolean-text`: converts between `"true"` and `true`.
struct BooleanText: PlainCodec {
    static let name = "boolean-text"

    private static let words = [Array("true".utf8), Array("false".utf8)]

    func words(_ direction: Direction) -> String { "a text <-> its value" }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(Shape(.boolean)) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string else { throw CodecRefusal(expected: "\"true\" or \"false\"") }
        // Letters of any case are read.
        for word in Self.words
        where content.byteCount == word.count && word.indices.allSatisfy({ content.byte(at: $0) | 0x20 == word[$0] }) {
            output.append(word)
            return content.equals(word.lent)
        }
        throw CodecRefusal(expected: "\"true\" or \"false\"")
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .true || kind == .false else { throw CodecRefusal(expected: "true or false") }
        output.append(content)
        return true
    }
}

/// `decimal{scale}`: converts between `"12.50"` and `1250` for a scale of 2.
struct DecimalText: PairCodec {
    static let name = "decimal"

    let scale: Int

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        guard let arguments else {
            throw using.problem("decimal needs a scale", rule: Rule.opArgument, fix: "using: {decimal: {scale: 2}}")
        }
        try arguments.map("decimal", allowing: ["scale"])
        scale = try arguments.required("scale", of: "decimal").integer("scale", from: 0, through: 100)
    }

    func words(_ direction: Direction) -> String { "a decimal text <-> whole units, \(scale) digits" }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(Shape(.integer), also: [.number]) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard case .string = kind, let number = WrittenNumber(content), !number.isNegative || !number.isZero(in: content) else {
            throw refusal
        }
        for offset in number.fraction.dropFirst(scale) where content.byte(at: offset) != UInt8(ascii: "0") { throw refusal }
        let fraction = number.fraction.prefix(scale)
        if number.isNegative { output.append(UInt8(ascii: "-")) }
        let start = output.count
        append(content, number.whole, after: start, into: &output)
        append(content, fraction, after: start, into: &output)
        if output.count == start {
            output.append(UInt8(ascii: "0"))
        } else {
            for _ in fraction.count ..< scale { output.append(UInt8(ascii: "0")) }
        }
        return !number.hasPlus && number.leadingZeros(in: content) == 0 && number.fraction.count == scale
    }

    /// Appends digits, skipping zeros while no other digit has been written since `start`.
    private func append(_ content: RawSpan, _ digits: Range<Int>, after start: Int, into output: inout ByteBuffer) {
        for offset in digits {
            let digit = content.byte(at: offset)
            if digit != UInt8(ascii: "0") || output.count > start { output.append(digit) }
        }
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        if kind == .number, let number = WrittenNumber(content), number.fraction.isEmpty,
            !number.isNegative || !number.isZero(in: content)
        {
            appendText(content, number, into: &output)
            return true
        }
        var plain = ByteBuffer(capacity: 32)
        try integer(content, kind).append(to: &plain)
        if let number = WrittenNumber(plain.bytes) { appendText(plain.bytes, number, into: &output) }
        return false
    }

    /// Appends an integer's digits, with a point in front of the last `scale` of them.
    private func appendText(_ text: RawSpan, _ number: WrittenNumber, into output: inout ByteBuffer) {
        if number.isNegative { output.append(UInt8(ascii: "-")) }
        let digits = number.whole
        let whole = max(digits.count - scale, 0)
        if whole == 0 { output.append(UInt8(ascii: "0")) } else { output.append(text.slice(digits.lowerBound, whole)) }
        if scale > 0 {
            output.append(UInt8(ascii: "."))
            for _ in 0 ..< max(scale - digits.count, 0) { output.append(UInt8(ascii: "0")) }
            output.append(text.slice(digits.lowerBound + whole, digits.count - whole))
        }
    }

    private var refusal: CodecRefusal {
        CodecRefusal(expected: "the text of a number with at most \(scale) digits after the point, and not -0")
    }
}

/// A decimal number in a text: an optional sign, digits, and optionally a point and more digits. Unlike in JSON, `+` and leading zeros are
/// allowed, and exponents are not.
struct WrittenNumber {
    var isNegative = false
    var hasPlus = false
    /// Offsets of the digits before and after the point.
    var whole: Range<Int>
    var fraction: Range<Int>

    init?(_ text: RawSpan) {
        var offset = 0
        if text.byteCount > 0, text.byte(at: 0) == UInt8(ascii: "-") || text.byte(at: 0) == UInt8(ascii: "+") {
            isNegative = text.byte(at: 0) == UInt8(ascii: "-")
            hasPlus = !isNegative
            offset = 1
        }
        let start = offset
        while offset < text.byteCount, isDigit(text.byte(at: offset)) { offset += 1 }
        whole = start ..< offset
        guard !whole.isEmpty else { return nil }
        fraction = offset ..< offset
        if offset < text.byteCount, text.byte(at: offset) == UInt8(ascii: ".") {
            offset += 1
            let first = offset
            while offset < text.byteCount, isDigit(text.byte(at: offset)) { offset += 1 }
            fraction = first ..< offset
            guard !fraction.isEmpty else { return nil }
        }
        guard offset == text.byteCount else { return nil }
    }

    func isZero(in text: RawSpan) -> Bool {
        for offset in whole where text.byte(at: offset) != UInt8(ascii: "0") { return false }
        for offset in fraction where text.byte(at: offset) != UInt8(ascii: "0") { return false }
        return true
    }

    /// The number of leading zeros before the point, not counting a single zero.
    func leadingZeros(in text: RawSpan) -> Int {
        var count = 0
        while count < whole.count - 1, text.byte(at: whole.lowerBound + count) == UInt8(ascii: "0") { count += 1 }
        return count
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
