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
