internal import Bytes

/// A part of a text.
struct Cut: BitwiseCopyable {
    let start, count: Int32
}

/// Cuts texts into parts where separators stand.
struct Cutter: ~Copyable, Sendable {
    let separator: [UInt8]
    private let first: UInt8
    private let width: Int
    /// How many separators count.
    private let wanted: Int
    /// Whether those that count are the last ones of the text.
    private let isAtLast: Bool
    /// Whether a text with too few of them is refused.
    private let refusesMissing: Bool

    init(_ rule: SeparatorRule) {
        separator = Array(rule.separator.utf8)
        (first, width, wanted) = (separator[0], separator.count, rule.parts.count - 1)
        (isAtLast, refusesMissing) = (rule.isAtLast, rule.refusesMissing)
    }

    init(copying other: borrowing Cutter) {
        (separator, first, width, wanted) = (other.separator, other.first, other.width, other.wanted)
        (isAtLast, refusesMissing) = (other.isAtLast, other.refusesMissing)
    }

    /// Finds the parts of a text; false where there are too few and that is refused.
    func cut(_ text: RawSpan, into cuts: inout Slots<Cut>) -> Bool {
        cuts.removeAll()
        let found = refusesMissing || isAtLast ? count(in: text) : wanted
        if refusesMissing, found < wanted { return false }
        // Too many separators: the first ones count, or the last, and the rest belong to the part on the other side.
        var skipped = isAtLast ? max(found - wanted, 0) : 0
        var start = 0
        while true {
            var end = cuts.count < wanted ? next(in: text, from: start) : nil
            while skipped > 0, let passed = end {
                end = next(in: text, from: passed + width)
                skipped -= 1
            }
            cuts.append(Cut(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: (end ?? text.byteCount) - start)))
            guard let end else { return true }
            start = end + width
        }
    }

    /// How many separators there are, as far as that matters.
    private func count(in text: RawSpan) -> Int {
        var count = 0
        var offset = 0
        while isAtLast || count < wanted, let found = next(in: text, from: offset) {
            count += 1
            offset = found + width
        }
        return count
    }

    /// Where the separator stands next.
    private func next(in text: RawSpan, from start: Int) -> Int? {
        var offset = start
        while offset &+ width <= text.byteCount {
            if text.byte(at: offset) == first, width == 1 || text.slice(offset, width).equals(separator.lent) { return offset }
            offset &+= 1
        }
        return nil
    }
}
