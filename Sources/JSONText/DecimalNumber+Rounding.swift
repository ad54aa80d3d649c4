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
