/// Decimal digits, read and written.
extension RawSpan {
    /// The integer that a plain run of up to 18 digits, perhaps after a minus, spells; nil for other text.
    @inlinable
    package var plainInteger: Int? {
        let isNegative = byteCount > 0 && byte(at: 0) == UInt8(ascii: "-")
        var offset = isNegative ? 1 : 0
        guard byteCount > offset, byteCount &- offset <= 18 else { return nil }
        var value = 0
        while byteCount &- offset >= 8 {
            guard let eight = Self.eightDigits(load(UInt64.self, at: offset)) else { return nil }
            value = value &* 100_000_000 &+ eight
            offset &+= 8
        }
        while offset < byteCount {
            let digit = byte(at: offset) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value &* 10 &+ Int(digit)
            offset &+= 1
        }
        return isNegative ? 0 &- value : value
    }

    /// What eight digits spell, the first of them in the lowest byte: neighbours are added up three times.
    @inlinable
    static func eightDigits(_ word: UInt64) -> Int? {
        let digits = word &- 0x3030_3030_3030_3030
        guard (digits | (digits &+ 0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 == 0 else { return nil }
        let pairs = (digits &* 10 &+ digits &>> 8) & 0x00FF_00FF_00FF_00FF
        let fours = (pairs &* 100 &+ pairs &>> 16) & 0x0000_FFFF_0000_FFFF
        return Int((fours &* 10_000 &+ fours &>> 32) & 0xFFFF_FFFF)
    }
}

extension ByteBuffer {
    /// Appends a number with zeros in front up to `width` digits.
    package mutating func append(digits number: UInt64, width: Int = 1) {
        let count = Swift.max(Self.digits(of: number), width)
        if count > capacity &- used { grow(by: count) }
        var (rest, end) = (number, used &+ count)
        while rest >= 100 {
            let (hundreds, pair) = rest.quotientAndRemainder(dividingBy: 100)
            end &-= 2
            unsafe base.storeBytes(of: Self.pair(pair), toByteOffset: end, as: UInt16.self)
            rest = hundreds
        }
        while end > used {
            let (tens, one) = rest.quotientAndRemainder(dividingBy: 10)
            end &-= 1
            unsafe base.storeBytes(of: 0x30 | UInt8(truncatingIfNeeded: one), toByteOffset: end, as: UInt8.self)
            rest = tens
        }
        used &+= count
    }

    package mutating func append(integer number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(digits: UInt64(number.magnitude))
    }

    private static func digits(of number: UInt64) -> Int {
        var (count, rest) = (1, number)
        while rest >= 10_000 { (count, rest) = (count &+ 4, rest / 10_000) }
        return count &+ (rest >= 1000 ? 3 : rest >= 100 ? 2 : rest >= 10 ? 1 : 0)
    }

    /// The two digits of a number below 100 as they stand in memory.
    private static func pair(_ number: UInt64) -> UInt16 {
        let tens = number / 10
        return (0x3030 | UInt16(truncatingIfNeeded: tens) | UInt16(truncatingIfNeeded: number &- tens &* 10) &<< 8).littleEndian
    }
}
