internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// How `max`, `min` and sorted sets compare two values.
enum ValueOrder: Sendable {
    /// Numbers by value, and texts bytewise.
    case values
    /// Date-times by the instants that they denote, regardless of their offsets.
    case instants

    /// Negative, zero or positive if the first value is before, equal to or after the second one.
    func compare(_ a: RawSpan, _ b: RawSpan) throws(FoldError) -> Int {
        let first = try Kind(a)
        let second = try Kind(b)
        guard first == second else { throw FoldError("\(first.rawValue) can't be compared with \(second.rawValue)") }
        switch first {
        case .number:
            guard let left = DecimalNumber(json: a), let right = DecimalNumber(json: b) else {
                throw FoldError("only numbers with \(DecimalNumber.exponents) can be compared")
            }
            return left < right ? -1 : left == right ? 0 : 1
        case .text:
            if self == .instants {
                let left = try Self.instant(a)
                let right = try Self.instant(b)
                return left < right ? -1 : left == right ? 0 : 1
            }
            if isPlainString(a), isPlainString(b) {
                return a.slice(1, a.byteCount - 2).compare(b.slice(1, b.byteCount - 2))
            }
            let left = Array((decodedString(a) ?? "").utf8)
            let right = Array((decodedString(b) ?? "").utf8)
            return left.lent.compare(right.lent)
        }
    }

    enum Kind: String {
        case number = "a number"
        case text = "a text"

        init(_ value: RawSpan) throws(FoldError) {
            switch value.byteCount > 0 ? value.byte(at: 0) : 0 {
            case 0x22: self = .text
            case 48 ... 57, UInt8(ascii: "-"): self = .number
            default: throw FoldError("should be a number or a text, found \(Self.words(value))")
            }
        }

        static func words(_ value: RawSpan) -> String {
            switch value.byteCount > 0 ? value.byte(at: 0) : 0 {
            case 0x7b: "an object"
            case 0x5b: "a list"
            case UInt8(ascii: "n"): "null"
            case UInt8(ascii: "t"), UInt8(ascii: "f"): "a flag"
            case 0x22: "a text"
            default: "a number"
            }
        }
    }

    private static func instant(_ value: RawSpan) throws(FoldError) -> Int64 {
        let instant =
            isPlainString(value)
            ? DateTime(value.slice(1, value.byteCount - 2)) : decodedString(value).flatMap { DateTime(Array($0.utf8).lent) }
        guard let instant else {
            throw FoldError("not a date-time: \(String(utf8: value) ?? "")")
        }
        return instant.microseconds
    }
}

extension Source {
    /// Whether its values are compared as instants.
    func isInstant(in shape: Shape, item: Shape?) -> Bool {
        switch self {
        case .time: true
        case .pointer(let pointer): shape.at(pointer)?.format == .dateTime
        case .item(let pointer): item?.at(pointer)?.format == .dateTime
        default: false
        }
    }
}
