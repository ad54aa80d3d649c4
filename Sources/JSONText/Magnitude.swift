/// An unsigned integer: in a machine word if it has at most 19 digits, as decimal digits otherwise.
enum Magnitude: Hashable, Sendable {
    case small(UInt64)
    /// Digits 0 to 9, least significant first; at least 20 of them, and the most significant one is not 0.
    case large([UInt8])

    static let smallDigits = 19
    static let smallEnd: UInt64 = 10_000_000_000_000_000_000

    init(_ value: UInt64) {
        self = value < Magnitude.smallEnd ? .small(value) : .large(Magnitude.digits(of: value))
    }

    /// Makes a magnitude of digits, least significant first.
    init(digits: [UInt8]) {
        var digits = digits
        while digits.last == 0 { digits.removeLast() }
        if digits.count > Magnitude.smallDigits {
            self = .large(digits)
        } else {
            self = .small(digits.reversed().reduce(0) { $0 * 10 + UInt64($1) })
        }
    }

    var isZero: Bool { self == .small(0) }

    var isEven: Bool {
        switch self {
        case .small(let value): value % 2 == 0
        case .large(let digits): digits[0] % 2 == 0
        }
    }

    /// The digits, least significant first; empty for zero.
    var digits: [UInt8] {
        switch self {
        case .small(let value): Magnitude.digits(of: value)
        case .large(let digits): digits
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
        case .large(let digits): return digits.firstIndex { $0 != 0 } ?? 0
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
