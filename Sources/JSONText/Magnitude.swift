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
            // Of two numbers of equal length the one whose digits end first has zeros there, and the other one has a digit that is none.
            a.count + zeros == b.count + otherZeros
                ? a.reversed().lexicographicallyPrecedes(b.reversed()) : a.count + zeros < b.count + otherZeros
        }
    }

    /// The magnitude multiplied by ten to the power of `places`.
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

    /// The magnitude without its last `count` digits.
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
