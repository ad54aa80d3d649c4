internal import EventModel

/// A value that is printed as JSON text. Objects keep the order of their members in the source, which scripts may rely on.
enum OutputValue: Sendable, ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByStringInterpolation
{
    case null
    case bool(Bool)
    case number(String)
    case text(String)
    /// JSON text that was checked before.
    case json([UInt8])
    case list([OutputValue])
    case object([(name: String, value: OutputValue)])

    init(nilLiteral: ()) { self = .null }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(stringLiteral value: String) { self = .text(value) }
    init(arrayLiteral elements: OutputValue...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, OutputValue)...) {
        self = .object(elements.map { (name: $0.0, value: $0.1) })
    }

    static func count(_ number: some BinaryInteger) -> OutputValue { .number(String(number)) }
    static func count(_ number: (some BinaryInteger)?) -> OutputValue { number.map { .count($0) } ?? .null }
    static func optional(_ text: String?) -> OutputValue { text.map { .text($0) } ?? .null }
    static func position(_ position: Position) -> OutputValue { .count(position.rawValue) }
    static func position(_ position: Position?) -> OutputValue { .count(position?.rawValue) }
    static func version(_ version: SchemaVersion?) -> OutputValue { .count(version?.rawValue) }
    static func time(_ time: Timestamp?) -> OutputValue { .optional(time?.description) }

    /// A measured number, rounded to three decimal places.
    static func measure(_ value: Double?) -> OutputValue {
        guard let value, value.isFinite else { return .null }
        return .number(String((value * 1_000).rounded() / 1_000))
    }

    /// The seconds of a span of time.
    static func measure(_ duration: Duration?) -> OutputValue { .measure(duration?.inSeconds) }

    var utf8: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return bytes
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let text): bytes += text.utf8
        case .text(let text): Self.quote(text, into: &bytes)
        case .json(let text): bytes += text
        case .list(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.quote(member.name, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ text: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\t": bytes += "\\t".utf8
            case "\r": bytes += "\\r".utf8
            case _ where scalar.isTerminalControl: bytes += scalar.jsonEscape.utf8
            default: bytes += String(scalar).utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
