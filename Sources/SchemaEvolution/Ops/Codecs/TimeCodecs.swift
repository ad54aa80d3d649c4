internal import Bytes
internal import EventModel
internal import JSONText

/// `rfc3339-date`: converts a date-time to its date, as written, and a date to midnight in UTC.
struct DateOfTime: PairCodec {
    static let name = "rfc3339-date"

    private static let midnight: [UInt8] = Array("T00:00:00Z".utf8)

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) { try CodecRegistry.refuseArguments(arguments, Self.name) }

    func words(_ direction: Direction) -> String { "a moment <-> its day as written; a day is its midnight in UTC" }

    var left: CodecSide { CodecSide(.dateTime) }

    var right: CodecSide {
        var shape = Shape(.string)
        shape.format = .date
        return CodecSide(shape)
    }

    var losesRightward: Bool { true }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, DateTime(content) != nil else { throw CodecRefusal(expected: "a date-time of RFC 3339") }
        output.append(UInt8(ascii: "\""))
        output.append(content.slice(0, 10))
        output.append(UInt8(ascii: "\""))
        return content.slice(10, content.byteCount - 10).equals(Self.midnight.lent)
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "\""))
        output.append(content)
        output.append(Self.midnight)
        let exists = DateTime(output.slice(start + 1, output.count - start - 1)) != nil
        guard kind == .string, content.byteCount == 10, exists else { throw CodecRefusal(expected: "a date of RFC 3339") }
        output.append(UInt8(ascii: "\""))
        return true
    }
}

/// `local-time{offset}`: converts between `"2025-06-24 14:36:25"` and `"2025-06-24T14:36:25Z"`.
struct LocalTime: PairCodec {
    static let name = "local-time"

    private let suffix: [UInt8]
    private let offsetMinutes: Int

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        guard let arguments else {
            throw using.problem("local-time needs an offset", rule: Rule.opArgument, fix: "using: {local-time: {offset: Z}}")
                .withRepairs(using.mark.repair(.set(#"{"local-time": {"offset": "Z"}}"#)))
        }
        try arguments.map("local-time", allowing: ["offset"])
        let node = try arguments.required("offset", of: "local-time", choices: "Z, or such as +02:00", guess: .string("Z"))
        let text = try node.text("offset")
        guard let probe = DateTime(Array("1970-01-01T00:00:00\(text)".utf8).lent), probe.fraction.isEmpty else {
            throw node.problem(
                "offset must be Z or such as +02:00, not \(quoted(text))", rule: Rule.opArgument, fix: "Z is UTC: offset: Z"
            ).withRepairs(node.becomes(.string("Z")))
        }
        (suffix, offsetMinutes) = (Array(text.utf8), probe.offsetMinutes)
    }

    func words(_ direction: Direction) -> String {
        "a local time at \(String(decoding: suffix, as: UTF8.self)) <-> RFC 3339; a fraction of a second is cut off"
    }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(.dateTime) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, content.byteCount == 19,
            let time = CivilTime(content, separator: UInt8(ascii: " ")) ?? CivilTime(content, separator: UInt8(ascii: "T"))
        else { throw CodecRefusal(expected: "a time such as 2025-06-24 14:36:25") }
        output.append(UInt8(ascii: "\""))
        output.append(time)
        output.append(suffix)
        output.append(UInt8(ascii: "\""))
        return content.byte(at: 10) == UInt8(ascii: " ")
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, let time = DateTime(content) else { throw CodecRefusal(expected: "a date-time of RFC 3339") }
        let seconds = time.civil.secondsSince1970 + Int64(offsetMinutes - time.offsetMinutes) * 60
        let local = CivilTime(secondsSince1970: seconds)
        guard local.exists else { throw CodecRefusal(expected: "a date-time within the years 0 to 9999") }
        output.append(UInt8(ascii: "\""))
        output.append(local, separator: UInt8(ascii: " "))
        output.append(UInt8(ascii: "\""))
        return content.byteCount == 19 + suffix.count && content.slice(19, suffix.count).equals(suffix.lent)
    }
}
