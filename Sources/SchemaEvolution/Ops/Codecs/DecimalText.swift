internal import Bytes
internal import JSONText

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

    /// Appends an integer's digits as a string, with a point in front of the last `scale` digits.
    private func appendText(_ text: RawSpan, _ number: WrittenNumber, into output: inout ByteBuffer) {
        output.append(UInt8(ascii: "\""))
        if number.isNegative { output.append(UInt8(ascii: "-")) }
        let digits = number.whole
        let whole = max(digits.count - scale, 0)
        if whole == 0 { output.append(UInt8(ascii: "0")) } else { output.append(text.slice(digits.lowerBound, whole)) }
        if scale > 0 {
            output.append(UInt8(ascii: "."))
            for _ in 0 ..< max(scale - digits.count, 0) { output.append(UInt8(ascii: "0")) }
            output.append(text.slice(digits.lowerBound + whole, digits.count - whole))
        }
        output.append(UInt8(ascii: "\""))
    }

    private var refusal: CodecRefusal {
        CodecRefusal(expected: "the text of a number with at most \(scale) digits after the point, and not -0")
    }
}
