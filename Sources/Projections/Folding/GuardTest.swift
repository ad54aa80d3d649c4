internal import Bytes
internal import JSONText

/// A guard's test with its constants ready to be compared.
struct GuardTest: Sendable {
    private enum Test: Sendable {
        case isOneOf([[UInt8]])
        case exists(Bool)
        case below([UInt8])
    }

    private let test: Test

    init(_ test: Guard.Test) {
        switch test {
        case .equals(let value): self.test = .isOneOf([value.canonical()])
        case .isOneOf(let values): self.test = .isOneOf(values.map { $0.canonical() })
        case .exists(let wanted): self.test = .exists(wanted)
        case .below(let value): self.test = .below(value.canonical())
        }
    }

    var holdsWhereAbsent: Bool {
        if case .exists(false) = test { true } else { false }
    }

    /// Whether it holds for a value that is there.
    func holds(_ value: RawSpan) -> Bool {
        switch test {
        case .exists(let wanted): wanted
        case .isOneOf(let constants): constants.contains { ValueOrder.same(value, $0.lent) }
        case .below(let constant): Self.isBelow(value, constant.lent)
        }
    }

    private static func isBelow(_ value: RawSpan, _ bound: RawSpan) -> Bool {
        guard value.byteCount > 0 else { return false }
        if value.byte(at: 0) == 0x22 || bound.byte(at: 0) == 0x22 {
            guard let left = decodedString(value), let right = decodedString(bound) else { return false }
            return dotted(left, isBelow: right)
        }
        guard let left = DecimalNumber(json: value), let right = DecimalNumber(json: bound) else { return false }
        return left < right
    }

    /// Part by part between the dots: numbers as numbers, all else as text; a missing part is the least.
    private static func dotted(_ left: String, isBelow right: String) -> Bool {
        let a = left.split(separator: ".", omittingEmptySubsequences: false)
        let b = right.split(separator: ".", omittingEmptySubsequences: false)
        for (left, right) in zip(a, b) where left != right {
            if let x = UInt64(left), let y = UInt64(right) {
                if x != y { return x < y }
                continue
            }
            return Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8))
        }
        return a.count < b.count
    }
}
