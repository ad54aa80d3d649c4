package import Bytes

/// An exact decimal number of any length.
package struct DecimalNumber: Hashable, Sendable {
    package private(set) var isNegative: Bool
    /// The number's digits as an integer: the number is this value divided by ten to the power of `fractionDigits`.
    let magnitude: Magnitude
    /// The digits after the point; the last one is not 0.
    package let fractionDigits: Int

    /// The largest exponent that a text may have. Beyond it the digits would take more memory than the text: nothing is computed with it.
    package static let exponentMax = 9_999

    /// What a number has that is computed with, in words.
    package static let exponents = "an exponent from -\(exponentMax) to \(exponentMax)"

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
    /// How digits that are not kept are removed: truncated, or rounded to the nearest, with a tie away from zero or to the even digit.
    package enum Rounding: Sendable { case down, halfUp, halfEven }

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
        if isInteger, case .small(let value) = magnitude { return output.append(digits: value) }
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
}

/// An unsigned integer: in a machine word if it has at most 19 digits, as decimal digits otherwise.
enum Magnitude: Hashable, Sendable {
    case small(UInt64)
    /// Digits 0 to 9, least significant first, multiplied by ten to the power of `zeros`: a number of at least 20 digits, of which neither
    /// the first nor the last that is listed is 0. So what a short text such as 1e9999 denotes takes no more room than the text.
    case large([UInt8], zeros: Int)

    static let smallDigits = 19
    static let smallEnd: UInt64 = 10_000_000_000_000_000_000

    init(_ value: UInt64) {
        self = value < Magnitude.smallEnd ? .small(value) : Magnitude(digits: Magnitude.digits(of: value))
    }

    /// Makes a magnitude of digits, least significant first, multiplied by ten to the power of `zeros`.
    init(digits: [UInt8], zeros: Int = 0) {
        guard let first = digits.firstIndex(where: { $0 != 0 }), let last = digits.lastIndex(where: { $0 != 0 }) else {
            self = .small(0)
            return
        }
        if zeros + last < Magnitude.smallDigits {
            self = .small(([UInt8](repeating: 0, count: zeros) + digits[...last]).reversed().reduce(0) { $0 * 10 + UInt64($1) })
        } else {
            self = .large(Array(digits[first ... last]), zeros: zeros + first)
        }
    }

    var isZero: Bool { self == .small(0) }

    var isEven: Bool {
        switch self {
        case .small(let value): value % 2 == 0
        case .large(let digits, let zeros): zeros > 0 || digits[0] % 2 == 0
        }
    }

    /// The digits, least significant first; empty for zero.
    var digits: [UInt8] { digits(above: 0) }

    /// The digits but for the last `count`, which are listed zeros.
    private func digits(above count: Int) -> [UInt8] { [UInt8](repeating: 0, count: listed.zeros - count) + listed.digits }

    /// The digits that are kept, and how many zeros follow them.
    var listed: (digits: [UInt8], zeros: Int) {
        switch self {
        case .small(let value): (Magnitude.digits(of: value), 0)
        case .large(let digits, let zeros): (digits, zeros)
        }
    }

    /// The number of trailing decimal zeros; 0 for zero.
    var trailingZeros: Int {
        switch self {
        case .small(var value):
            guard value != 0 else { return 0 }
            var count = 0
            while value % 10 == 0 {
                value /= 10
                count += 1
            }
            return count
        case .large(_, let zeros): return zeros
        }
    }

    private static func digits(of value: UInt64) -> [UInt8] {
        var rest = value
        var digits: [UInt8] = []
        while rest > 0 {
            digits.append(UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        return digits
    }
}

extension Magnitude {
    func adding(_ other: Magnitude) -> Magnitude {
        if case .small(let a) = self, case .small(let b) = other {
            let (sum, overflow) = a.addingReportingOverflow(b)
            if !overflow { return Magnitude(sum) }
        }
        let zeros = min(listed.zeros, other.listed.zeros)
        let (a, b) = (digits(above: zeros), other.digits(above: zeros))
        var sum: [UInt8] = []
        var carry: UInt8 = 0
        for index in 0 ..< max(a.count, b.count) {
            let value = (index < a.count ? a[index] : 0) + (index < b.count ? b[index] : 0) + carry
            sum.append(value % 10)
            carry = value / 10
        }
        sum.append(carry)
        return Magnitude(digits: sum, zeros: zeros)
    }

    /// The difference; `other` must not be greater.
    func subtracting(_ other: Magnitude) -> Magnitude {
        if case .small(let a) = self, case .small(let b) = other { return .small(a - b) }
        let zeros = min(listed.zeros, other.listed.zeros)
        let (a, b) = (digits(above: zeros), other.digits(above: zeros))
        var difference: [UInt8] = []
        var borrow: UInt8 = 0
        for index in a.indices {
            let less = (index < b.count ? b[index] : 0) + borrow
            borrow = a[index] < less ? 1 : 0
            difference.append(a[index] + 10 * borrow - less)
        }
        return Magnitude(digits: difference, zeros: zeros)
    }

    func isLess(than other: Magnitude) -> Bool {
        switch (self, other) {
        case (.small(let a), .small(let b)): a < b
        case (.small, .large): true
        case (.large, .small): false
        case (.large(let a, let zeros), .large(let b, let otherZeros)):
            // If two numbers have equal length, the one whose digits end first has zeros there, and the other one a digit that is none.
            a.count + zeros == b.count + otherZeros
                ? a.reversed().lexicographicallyPrecedes(b.reversed()) : a.count + zeros < b.count + otherZeros
        }
    }

    func shifted(by places: Int) -> Magnitude {
        guard places > 0, !isZero else { return self }
        if case .small(let value) = self, places < Magnitude.smallDigits {
            var product = value
            var overflow = false
            for _ in 0 ..< places where !overflow { (product, overflow) = product.multipliedReportingOverflow(by: 10) }
            if !overflow { return Magnitude(product) }
        }
        let (digits, zeros) = listed
        return Magnitude(digits: digits, zeros: zeros + places)
    }

    func dropping(_ count: Int) -> Magnitude {
        if case .small(var value) = self {
            for _ in 0 ..< min(count, Magnitude.smallDigits) { value /= 10 }
            return .small(value)
        }
        let (digits, zeros) = listed
        return Magnitude(digits: Array(digits.dropFirst(max(count - zeros, 0))), zeros: max(zeros - count, 0))
    }

    func multiplied(by other: Magnitude) -> Magnitude {
        if case .small(let a) = self, case .small(let b) = other {
            let (product, overflow) = a.multipliedReportingOverflow(by: b)
            if !overflow { return Magnitude(product) }
        }
        let ((a, zeros), (b, otherZeros)) = (listed, other.listed)
        // The sum of a column's products can't overflow: 81 times the digits of a text of 1 GiB is far below the limit.
        var columns = [UInt64](repeating: 0, count: a.count + b.count)
        for (i, x) in a.enumerated() {
            for (j, y) in b.enumerated() { columns[i + j] += UInt64(x) * UInt64(y) }
        }
        var carry: UInt64 = 0
        let product = columns.map { column in
            let value = column + carry
            carry = value / 10
            return UInt8(truncatingIfNeeded: value % 10)
        }
        return Magnitude(digits: product, zeros: zeros + otherZeros)
    }

    func divided(by divisor: UInt) -> (quotient: Magnitude, remainder: UInt) {
        if case .small(let value) = self {
            return (.small(value / UInt64(divisor)), UInt(value % UInt64(divisor)))
        }
        var quotient: [UInt8] = []
        var rest: UInt128 = 0
        for digit in digits.reversed() {
            rest = rest * 10 + UInt128(digit)
            quotient.append(UInt8(truncatingIfNeeded: rest / UInt128(divisor)))
            rest %= UInt128(divisor)
        }
        return (Magnitude(digits: quotient.reversed()), UInt(rest))
    }
}

/// A parsed JSON number: its digits without leading and trailing zeros, and the location of the point.
struct NumberText {
    var isNegative = false
    /// Digits 0 to 9, most significant first; empty for zero.
    var digits: [UInt8] = []
    /// The power of ten by which `0.digits` is multiplied.
    var point = 0
    /// The exponent as written in the text.
    var exponent = 0

    init(isNegative: Bool, digits: [UInt8], point: Int) {
        self.isNegative = isNegative
        self.digits = digits
        self.point = point
    }

    /// Parses a text that is a complete JSON number; nil for other text.
    init?(_ text: RawSpan) {
        var offset = 0
        func current() -> UInt8 { offset < text.byteCount ? text.byte(at: offset) : 0 }
        if current() == UInt8(ascii: "-") {
            isNegative = true
            offset += 1
        }
        let whole = offset
        while isDigit(current()) {
            append(digit: current(), beforePoint: true)
            offset += 1
        }
        guard offset > whole, offset == whole + 1 || text.byte(at: whole) != UInt8(ascii: "0") else { return nil }
        if current() == UInt8(ascii: ".") {
            offset += 1
            let fraction = offset
            while isDigit(current()) {
                append(digit: current(), beforePoint: false)
                offset += 1
            }
            guard offset > fraction else { return nil }
        }
        if current() | 0x20 == UInt8(ascii: "e") {
            offset += 1
            let isBelow = current() == UInt8(ascii: "-")
            if isBelow || current() == UInt8(ascii: "+") { offset += 1 }
            guard isDigit(current()) else { return nil }
            while isDigit(current()) {
                exponent = exponent * 10 + Int(current() - UInt8(ascii: "0"))
                guard exponent < 1_000_000_000 else { return nil }
                offset += 1
            }
            if isBelow { exponent = -exponent }
        }
        guard offset == text.byteCount else { return nil }
        point += exponent
        while digits.last == 0 { digits.removeLast() }
        if digits.isEmpty {
            isNegative = false
            point = 0
        }
    }

    private mutating func append(digit: UInt8, beforePoint: Bool) {
        let value = digit - UInt8(ascii: "0")
        if digits.isEmpty && value == 0 {
            if !beforePoint { point -= 1 }
            return
        }
        digits.append(value)
        if beforePoint { point += 1 }
    }

    /// Appends the number in the layout of ECMAScript's `Number::toString`.
    func appendCanonical(to output: inout ByteBuffer) {
        guard !digits.isEmpty else { return output.append(UInt8(ascii: "0")) }
        if isNegative { output.append(UInt8(ascii: "-")) }
        switch point {
        case 1 ... 21:
            append(digits[..<min(point, digits.count)], to: &output)
            for _ in 0 ..< max(point - digits.count, 0) { output.append(UInt8(ascii: "0")) }
            if digits.count > point {
                output.append(UInt8(ascii: "."))
                append(digits[point...], to: &output)
            }
        case -5 ... 0:
            output.append("0.")
            for _ in point ..< 0 { output.append(UInt8(ascii: "0")) }
            append(digits[...], to: &output)
        default:
            append(digits[..<1], to: &output)
            if digits.count > 1 {
                output.append(UInt8(ascii: "."))
                append(digits[1...], to: &output)
            }
            output.append(point > 0 ? "e+" : "e-")
            output.append(String(abs(point - 1)))
        }
    }

    private func append(_ digits: ArraySlice<UInt8>, to output: inout ByteBuffer) {
        for digit in digits { output.append(UInt8(ascii: "0") + digit) }
    }
}
