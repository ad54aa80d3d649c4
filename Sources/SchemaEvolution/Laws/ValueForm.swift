internal import Bytes
internal import EventModel
internal import JSONText

/// Compares numbers and moments regardless of notation: `007` and `7`, `12.5` and `12.50`, `+02:00` and `Z`.
enum ValueForm {
    /// Whether two lists of events differ only in the notation of numbers and moments.
    static func isSame(_ a: [GroupPart], _ b: [GroupPart]) -> Bool {
        a.count == b.count
            && zip(a, b).allSatisfy { a, b in
                do {
                    return try a.type.isSame(as: b.type) && isSame(JSONValue(parsing: a.payload.lent), JSONValue(parsing: b.payload.lent))
                } catch { return false }
            }
    }

    private static func isSame(_ a: JSONValue, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.object(let a), .object(let b)):
            return a.count == b.count
                && a.allSatisfy { member in b.first { $0.name.isSame(as: member.name) }.map { isSame(member.value, $0.value) } ?? false }
        case (.array(let a), .array(let b)): return a.count == b.count && zip(a, b).allSatisfy { isSame($0, $1) }
        case (.string(let a), .string(let b)), (.number(let a), .number(let b)): return plain(a).isSame(as: plain(b))
        default: return a == b
        }
    }

    /// A text that all notations of a number or moment share; other texts unchanged.
    private static func plain(_ text: String) -> String {
        let bytes = Array(text.utf8)
        if let number = DecimalNumber(json: bytes.lent) {
            var plain = ByteBuffer(capacity: 32)
            number.append(to: &plain)
            return "number " + (String(utf8: plain.bytes) ?? text)
        }
        if let number = WrittenNumber(bytes.lent) {
            let whole = bytes[number.whole].drop { $0 == UInt8(ascii: "0") }
            let fraction = bytes[number.fraction].reversed().drop { $0 == UInt8(ascii: "0") }.reversed()
            var plain = number.isNegative && !number.isZero(in: bytes.lent) ? "-" : ""
            plain += whole.isEmpty ? "0" : String(decoding: whole, as: UTF8.self)
            if !fraction.isEmpty { plain += "." + String(decoding: Array(fraction), as: UTF8.self) }
            return "number " + plain
        }
        if let time = DateTime(bytes.lent) {
            let fraction = time.fraction.reversed().drop { $0 == UInt8(ascii: "0") }.reversed()
            let seconds = time.civil.secondsSince1970 - Int64(time.offsetMinutes) * 60
            return "moment \(seconds).\(String(decoding: Array(fraction), as: UTF8.self))"
        }
        let local = CivilTime(bytes.lent, separator: UInt8(ascii: " ")) ?? CivilTime(bytes.lent, separator: UInt8(ascii: "T"))
        return local.map { "local \($0)" } ?? text
    }
}
