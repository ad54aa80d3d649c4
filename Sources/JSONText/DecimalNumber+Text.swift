package import Bytes

extension DecimalNumber: CustomStringConvertible {
    /// Appends the number in plain digits, without exponent. A fraction has no trailing zeros.
    package func append(to output: inout ByteBuffer) {
        if isNegative { output.append(UInt8(ascii: "-")) }
        if isInteger, case .small(let value) = magnitude { return appendInteger(value, to: &output) }
        let digits = magnitude.digits
        let count = max(digits.count, fractionDigits + 1)
        for index in (0 ..< count).reversed() {
            output.append(UInt8(ascii: "0") + (index < digits.count ? digits[index] : 0))
            if index == fractionDigits, index > 0 { output.append(UInt8(ascii: ".")) }
        }
    }

    /// Appends the number as `Canonical` writes it.
    package func appendCanonical(to output: inout ByteBuffer) {
        if isInteger, case .small = magnitude { return append(to: &output) }
        let digits = magnitude.digits
        let trimmed = Array(digits[magnitude.trailingZeros...].reversed())
        NumberText(isNegative: isNegative, digits: trimmed, point: digits.count - fractionDigits).appendCanonical(to: &output)
    }

    /// The number in plain digits.
    package var description: String {
        var text = ByteBuffer(capacity: 32)
        append(to: &text)
        return String(utf8: text.bytes) ?? ""
    }

    private func appendInteger(_ value: UInt64, to output: inout ByteBuffer) {
        var unit: UInt64 = 1
        while value / unit >= 10 { unit *= 10 }
        var rest = value
        while unit > 0 {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / unit))
            rest %= unit
            unit /= 10
        }
    }
}
