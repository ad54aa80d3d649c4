internal import Bytes

/// The byte range of a part in a text.
struct TextPart: BitwiseCopyable {
    let start, count: Int32
}

/// Splits texts at separators.
struct TextSplitter: ~Copyable, Sendable {
    let separator: [UInt8]
    private let first: UInt8
    private let width: Int
    /// The number of separators at which a text is split.
    private let wanted: Int
    /// Whether the text is split at its last separators instead of its first.
    private let isAtLast: Bool
    /// Whether a text with too few separators is refused.
    private let refusesMissing: Bool

    init(_ rule: SeparatorRule) {
        separator = Array(rule.separator.utf8)
        (first, width, wanted) = (separator[0], separator.count, rule.parts.count - 1)
        (isAtLast, refusesMissing) = (rule.isAtLast, rule.refusesMissing)
    }

    init(copying other: borrowing TextSplitter) {
        (separator, first, width, wanted) = (other.separator, other.first, other.width, other.wanted)
        (isAtLast, refusesMissing) = (other.isAtLast, other.refusesMissing)
    }

    /// Finds the parts of a text. Returns false if it has too few separators and the rule refuses that.
    func split(_ text: RawSpan, into slices: inout UniqueArray<TextPart>) -> Bool {
        slices.removeAll()
        let found = refusesMissing || isAtLast ? count(in: text) : wanted
        if refusesMissing, found < wanted { return false }
        // If there are too many separators, the text is split at the first or last ones; the others remain in the part at the opposite end.
        var skipped = isAtLast ? max(found - wanted, 0) : 0
        var start = 0
        while true {
            var end = slices.count < wanted ? next(in: text, from: start) : nil
            while skipped > 0, let passed = end {
                end = next(in: text, from: passed + width)
                skipped -= 1
            }
            slices.append(
                TextPart(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: (end ?? text.byteCount) - start)))
            guard let end else { return true }
            start = end + width
        }
    }

    /// The number of separators in a text; stops at `wanted` if more make no difference.
    private func count(in text: RawSpan) -> Int {
        var count = 0
        var offset = 0
        while isAtLast || count < wanted, let found = next(in: text, from: offset) {
            count += 1
            offset = found + width
        }
        return count
    }

    /// The offset of the next separator.
    private func next(in text: RawSpan, from start: Int) -> Int? {
        var offset = start
        while offset &+ width <= text.byteCount {
            if text.byte(at: offset) == first, width == 1 || text.slice(offset, width).equals(separator.lent) { return offset }
            offset &+= 1
        }
        return nil
    }
}
