internal import Bytes

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
