internal import Bytes

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
        let digits = [UInt8](repeating: 0, count: zeros) + parts.digits.reversed()
        self.init(parts.isNegative, Magnitude(digits: digits), max(parts.digits.count - parts.point, 0))
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
