/// Decimal digits, read and written.
extension RawSpan {
    /// The integer that these bytes spell: up to 18 digits, perhaps behind a minus sign. Nil for other text.
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

    /// The value of eight digits, the first in the lowest byte, by adding up neighbours three times. Nil where a byte is no digit.
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
    /// Appends a number, padded with leading zeros to `width` digits.
    package mutating func append(digits number: UInt64, width: Int = 1) {
        if number < 100_000_000, width <= 8 { return append(eightDigits: number, width: width) }
        append(digits: number / 100_000_000, width: Swift.max(width &- 8, 1))
        append(eightDigits: number % 100_000_000, width: 8)
    }

    package mutating func append(integer number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(digits: UInt64(number.magnitude))
    }

    /// Appends a number of at most eight digits: splits its halves into pairs and the pairs into digits, all at once.
    private mutating func append(eightDigits number: UInt64, width: Int) {
        let upper = number / 10_000
        let fours = upper | (number &- upper &* 10_000) &<< 32
        let hundreds = (fours &* 10_486) &>> 20 & 0x7F_0000_007F
        let pairs = hundreds | (fours &- hundreds &* 100) &<< 16
        let tens = (pairs &* 103) &>> 10 & 0x000F_000F_000F_000F
        let digits = tens | (pairs &- tens &* 10) &<< 8
        let count = Swift.max(8 &- digits.trailingZeroBitCount &>> 3, width)
        let word = (digits | 0x3030_3030_3030_3030) &>> UInt64(truncatingIfNeeded: (8 &- count) &* 8)
        if capacity &- used < 8 { grow(by: 8) }
        unsafe base.storeBytes(of: word.littleEndian, toByteOffset: used, as: UInt64.self)
        used &+= count
    }
}

/// Lower-case hexadecimal text of bytes.
package func hex(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        text.append(hexDigit(byte >> 4))
        text.append(hexDigit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
}

/// The lower-case hexadecimal digit of a number below 16.
package func hexDigit(_ half: UInt8) -> UInt8 { half < 10 ? half + 48 : half + 87 }

/// The value of a hexadecimal digit of either case; nil for another character.
package func hexValue(_ character: UInt8) -> UInt8? {
    switch character {
    case 48 ... 57: character - 48
    case 97 ... 102: character - 87
    case 65 ... 70: character - 55
    default: nil
    }
}

/// Decodes hexadecimal text; nil where the length is odd or a character is no digit.
package func bytes(hex text: String) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count % 2 == 0 else { return nil }
    var result: [UInt8] = []
    for index in stride(from: 0, to: characters.count, by: 2) {
        guard let high = hexValue(characters[index]), let low = hexValue(characters[index + 1]) else { return nil }
        result.append(high << 4 | low)
    }
    return result
}
