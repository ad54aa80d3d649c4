package import Bytes

/// An encoding of JSON values whose bytewise order is the order of the values: null (also for absent values), false, true, numbers by
/// value, strings by their UTF-8, then arrays and objects by their canonical text. The order also holds if other bytes follow, provided
/// that the first of them is below ff.
///
///     02  03  04        null, false, true
///     10 …  11  12 …    a number below, equal to or above 0: the power of ten p with |n| = 0.d₁d₂… × 10^p (i16 + 32,768, big-endian), a
///                       byte 1 + 10 d₁ + d₂ for each two digits, 00; below 0 all of it inverted
///     13 …              a number whose power of ten is beyond that, by its canonical text without a plus sign, as a string
///     20 …              a string: a byte 00 as 00 ff, then 00 (as in FoundationDB's tuple layer)
///     21 …              a list or an object: its canonical text in the same form
///
/// So everything that begins with the bytes of a value, followed by another value or a key, sorts before these bytes followed by ff.
package enum OrderedValue {
    private enum Tag {
        static let null: UInt8 = 2
        static let (isFalse, isTrue): (UInt8, UInt8) = (3, 4)
        static let (below, zero, above, far): (UInt8, UInt8, UInt8, UInt8) = (0x10, 0x11, 0x12, 0x13)
        static let (string, other): (UInt8, UInt8) = (0x20, 0x21)
    }

    private static let powerMax = 32_000

    /// Appends the encoding of a valid JSON text without surrounding spaces; an empty text is encoded as null.
    package static func append(_ json: RawSpan, to bytes: inout ByteBuffer) {
        switch json.byteCount > 0 ? json.byte(at: 0) : UInt8(ascii: "n") {
        case UInt8(ascii: "n"): bytes.append(Tag.null)
        case UInt8(ascii: "f"): bytes.append(Tag.isFalse)
        case UInt8(ascii: "t"): bytes.append(Tag.isTrue)
        case UInt8(ascii: "\""):
            bytes.append(Tag.string)
            let literal = json.slice(1, json.byteCount - 2)
            if isPlainString(json) { return append(text: literal, to: &bytes) }
            var text = ByteBuffer(capacity: literal.byteCount)
            appendUnescaped(literal, into: &text)
            append(text: text, to: &bytes)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            bytes.append(Tag.other)
            append(canonical: canonical(json), to: &bytes)
        default: append(number: json, to: &bytes)
        }
    }

    /// The offset behind the encoded value that begins at `start`; nil if no value begins there.
    package static func end(of bytes: RawSpan, at start: Int) -> Int? {
        guard start < bytes.byteCount else { return nil }
        let tag = bytes.byte(at: start)
        var offset = start + 1
        switch tag {
        case Tag.null, Tag.isFalse, Tag.isTrue, Tag.zero: return offset
        case Tag.below, Tag.above:
            offset += 2
            let last: UInt8 = tag == Tag.below ? 0xff : 0
            while offset < bytes.byteCount, bytes.byte(at: offset) != last { offset += 1 }
            return offset < bytes.byteCount ? offset + 1 : nil
        case Tag.far, Tag.string, Tag.other:
            while offset < bytes.byteCount {
                if bytes.byte(at: offset) == 0 {
                    if offset + 1 == bytes.byteCount || bytes.byte(at: offset + 1) != 0xff { return offset + 1 }
                    offset += 1
                }
                offset += 1
            }
            return nil
        default: return nil
        }
    }

    private static func canonicalNumber(_ json: RawSpan) -> [UInt8] {
        var text = ByteBuffer(capacity: json.byteCount + 16)
        JSONText.appendCanonical(number: json, into: &text)
        return text.array().filter { $0 != UInt8(ascii: "+") }
    }

    private static func canonical(_ json: RawSpan) -> [UInt8] {
        do { return try Canonical.bytes(of: json) } catch { return [UInt8](copying: json) }
    }

    private static func append(canonical text: [UInt8], to bytes: inout ByteBuffer) { append(text: text.lent, to: &bytes) }

    private static func append(text: borrowing ByteBuffer, to bytes: inout ByteBuffer) { append(text: text.bytes, to: &bytes) }

    private static func append(text: RawSpan, to bytes: inout ByteBuffer) {
        for offset in 0 ..< text.byteCount {
            bytes.append(text.byte(at: offset))
            if text.byte(at: offset) == 0 { bytes.append(0xff) }
        }
        bytes.append(0)
    }

    private static func append(number json: RawSpan, to bytes: inout ByteBuffer) {
        guard let number = NumberText(json), abs(number.point) <= powerMax else {
            bytes.append(Tag.far)
            return append(canonical: canonicalNumber(json), to: &bytes)
        }
        if number.digits.isEmpty { return bytes.append(Tag.zero) }
        bytes.append(number.isNegative ? Tag.below : Tag.above)
        let inverted: UInt8 = number.isNegative ? 0xff : 0
        let power = UInt16(number.point + 32_768)
        bytes.append(UInt8(power >> 8) ^ inverted)
        bytes.append(UInt8(truncatingIfNeeded: power) ^ inverted)
        for index in stride(from: 0, to: number.digits.count, by: 2) {
            let second = index + 1 < number.digits.count ? number.digits[index + 1] : 0
            bytes.append((1 + 10 * number.digits[index] + second) ^ inverted)
        }
        bytes.append(inverted)
    }
}
