internal import Bytes

/// A decimal number as people write it: an optional sign, digits, perhaps a point and more digits.
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

    /// How many zeros stand before the digits that the whole part needs.
    func leadingZeros(in text: RawSpan) -> Int {
        var count = 0
        while count < whole.count - 1, text.byte(at: whole.lowerBound + count) == UInt8(ascii: "0") { count += 1 }
        return count
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

extension RawSpan {
    /// The integer that a plain run of up to 18 digits, perhaps after a minus, spells; nil for other text.
    var plainInteger: Int64? {
        let isNegative = byteCount > 0 && byte(at: 0) == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard byteCount > start, byteCount - start <= 18 else { return nil }
        var value: Int64 = 0
        for offset in start ..< byteCount {
            let byte = byte(at: offset)
            guard isDigit(byte) else { return nil }
            value = value * 10 + Int64(byte &- UInt8(ascii: "0"))
        }
        return isNegative ? -value : value
    }
}

extension ByteBuffer {
    /// Appends a number that is not negative, with zeros in front up to `width` digits.
    mutating func append(digits number: Int64, width: Int = 1) {
        var divisor: Int64 = 1
        var count = 1
        while count < width || number / divisor >= 10 {
            divisor *= 10
            count += 1
        }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    mutating func append(integer number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(digits: number.magnitude > Int64.max ? Int64.max : Int64(number.magnitude))
    }
}
