internal import Bytes
internal import JSONText

extension FusedInput {
    func hasSameContent(_ slot: Int, _ other: Int) -> Bool { content(slot).equals(content(other)) }

    /// The index of a text among the given values; nil if it is not one of them.
    func select(_ slot: Int, _ values: borrowing [[UInt8]]) -> Int? {
        for index in values.indices {
            let value = values[index]
            if content(slot).equals(value.lent) { return index }
        }
        return nil
    }

    /// Whether two values are equal.
    func means(_ slot: Int, sameAs other: Int) -> Bool {
        guard slots[slot].kind.rawValue == slots[other].kind.rawValue else { return false }
        do { return try JSONEquality.same(text(slot), text(other)) } catch { return false }
    }

    /// Whether a value is absent or fits a shape.
    func fits(_ slot: Int, _ shape: EventShape) -> Bool {
        if slots[slot].start < 0 { return true }
        do { try shape.validate(text(slot)) } catch { return false }
        return true
    }
}
