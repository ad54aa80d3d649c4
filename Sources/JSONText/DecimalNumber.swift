package import Bytes

/// An exact decimal number of any length.
package struct DecimalNumber: Hashable, Sendable {
    package private(set) var isNegative: Bool
    /// The number's digits as an integer: the number is this value divided by ten to the power of `fractionDigits`.
    let magnitude: Magnitude
    /// The digits after the point; the last one is not 0.
    package let fractionDigits: Int

    /// The largest exponent that a text may have. Beyond it, the digits would take more memory than the text, so the number is not computed
    /// with.
    package static let exponentMax = 9_999

    /// What a number has that is computed with, in words.
    package static let exponents = "an exponent from -\(exponentMax) to \(exponentMax)"

    package static let zero = DecimalNumber(0)

    package init(_ integer: Int) { self.init(integer < 0, Magnitude(UInt64(integer.magnitude)), 0) }

    /// Normalizes the number: no trailing zeros after the point, no negative zero.
    init(_ isNegative: Bool, _ magnitude: Magnitude, _ fractionDigits: Int) {
        let dropped = fractionDigits > 0 ? min(magnitude.trailingZeros, fractionDigits) : 0
        self.magnitude = dropped > 0 ? magnitude.dropping(dropped) : magnitude
        self.fractionDigits = magnitude.isZero ? 0 : fractionDigits - dropped
        self.isNegative = isNegative && !magnitude.isZero
    }

    /// The number that a JSON number's text denotes; nil for other text and for exponents beyond `exponentMax`.
    package init?(json text: RawSpan) {
        if let short = DecimalNumber(short: text) {
            self = short
            return
        }
        guard let parts = NumberText(text), abs(parts.exponent) <= DecimalNumber.exponentMax || parts.digits.isEmpty else { return nil }
        let zeros = max(parts.point - parts.digits.count, 0)
        self.init(
            parts.isNegative, Magnitude(digits: parts.digits.reversed(), zeros: zeros), max(parts.digits.count - parts.point, 0))
    }

    /// Parses the most common texts without taking them apart: at most 18 digits with an optional point, no exponent.
    private init?(short text: RawSpan) {
        guard text.byteCount > 0, text.byteCount <= 19 else { return nil }
        let isNegative = text.byte(at: 0) == UInt8(ascii: "-")
        let first = isNegative ? 1 : 0
        var value: UInt64 = 0
        var point: Int?
        for offset in first ..< text.byteCount {
            let byte = text.byte(at: offset)
            if isDigit(byte) {
                value = value &* 10 &+ UInt64(byte & 15)
            } else {
                guard byte == UInt8(ascii: "."), point == nil, offset > first, offset < text.byteCount - 1 else { return nil }
                point = offset
            }
        }
        let whole = (point ?? text.byteCount) - first
        guard whole > 0, whole == 1 || text.byte(at: first) != UInt8(ascii: "0") else { return nil }
        self.init(isNegative, Magnitude(value), point.map { text.byteCount - 1 - $0 } ?? 0)
    }

    package var isZero: Bool { magnitude.isZero }
    package var isInteger: Bool { fractionDigits == 0 }

    /// The number as an `Int`; nil if it has a fraction or does not fit.
    package var integer: Int? {
        guard isInteger, case .small(let value) = magnitude else { return nil }
        if isNegative { return value <= UInt64(Int.max) + 1 ? Int(truncatingIfNeeded: 0 &- value) : nil }
        return Int(exactly: value)
    }
}

extension DecimalNumber: Comparable {
    package static func + (left: DecimalNumber, right: DecimalNumber) -> DecimalNumber {
        let (a, b, fractionDigits) = aligned(left, right)
        if left.isNegative == right.isNegative { return DecimalNumber(left.isNegative, a.adding(b), fractionDigits) }
        return a.isLess(than: b)
            ? DecimalNumber(right.isNegative, b.subtracting(a), fractionDigits)
            : DecimalNumber(left.isNegative, a.subtracting(b), fractionDigits)
    }

    package static func - (left: DecimalNumber, right: DecimalNumber) -> DecimalNumber { left + -right }

    package static prefix func - (number: DecimalNumber) -> DecimalNumber {
        DecimalNumber(!number.isNegative, number.magnitude, number.fractionDigits)
    }

    package static func * (left: DecimalNumber, right: DecimalNumber) -> DecimalNumber {
        DecimalNumber(
            left.isNegative != right.isNegative, left.magnitude.multiplied(by: right.magnitude),
            left.fractionDigits + right.fractionDigits)
    }

    package static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        let (a, b, _) = aligned(left, right)
        return left.isNegative ? b.isLess(than: a) : a.isLess(than: b)
    }

    /// The number multiplied by ten to the given power.
    package func scaled(byPowerOfTen power: Int) -> DecimalNumber {
        let fraction = fractionDigits - power
        return DecimalNumber(isNegative, magnitude.shifted(by: max(-fraction, 0)), max(fraction, 0))
    }

    /// Both magnitudes, scaled to the same number of fraction digits.
    private static func aligned(_ left: DecimalNumber, _ right: DecimalNumber) -> (Magnitude, Magnitude, Int) {
        let digits = max(left.fractionDigits, right.fractionDigits)
        return (
            left.magnitude.shifted(by: digits - left.fractionDigits), right.magnitude.shifted(by: digits - right.fractionDigits), digits
        )
    }
}

extension DecimalNumber {
    /// How digits that are not kept are removed: truncated, or rounded to the nearest number, with a tie away from zero or to the even
    /// digit.
    package enum Rounding: Sendable { case down, halfUp, halfEven }

    /// The number with at most `digits` digits after the point.
    package func rounded(toFractionDigits digits: Int, _ rounding: Rounding) -> DecimalNumber {
        guard fractionDigits > digits else { return self }
        return rounding.applied(to: magnitude, isNegative, from: fractionDigits, to: digits, hasRest: false)
    }

    /// The quotient with at most `digits` digits after the point, rounded once.
    package func divided(by divisor: Int, fractionDigits digits: Int, _ rounding: Rounding) -> DecimalNumber {
        precondition(divisor != 0, "a number is not divided by zero")
        // One digit more than is kept, and whether the remainder is zero, decide every rounding.
        let places = max(digits, fractionDigits) + 1
        let (quotient, remainder) = magnitude.shifted(by: places - fractionDigits).divided(by: divisor.magnitude)
        return rounding.applied(to: quotient, isNegative != (divisor < 0), from: places, to: digits, hasRest: remainder != 0)
    }
}

extension DecimalNumber.Rounding {
    /// `hasRest`: whether the exact number is slightly larger than the magnitude, because a division left a remainder.
    func applied(to magnitude: Magnitude, _ isNegative: Bool, from places: Int, to digits: Int, hasRest: Bool) -> DecimalNumber {
        let dropped = places - digits
        let kept = magnitude.dropping(dropped)
        let all = magnitude.digits
        let first = dropped <= all.count ? all[dropped - 1] : 0
        let isMore = hasRest || all.prefix(max(dropped - 1, 0)).contains { $0 != 0 }
        let isUp: Bool
        switch self {
        case .down: isUp = false
        case .halfUp: isUp = first >= 5
        case .halfEven: isUp = first > 5 || first == 5 && (isMore || !kept.isEven)
        }
        return DecimalNumber(isNegative, isUp ? kept.adding(Magnitude(1)) : kept, digits)
    }
}

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
        let (digits, zeros) = magnitude.listed
        let trimmed = Array(digits.drop { $0 == 0 }.reversed())
        NumberText(isNegative: isNegative, digits: trimmed, point: digits.count + zeros - fractionDigits).appendCanonical(to: &output)
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
