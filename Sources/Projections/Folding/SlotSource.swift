internal import Bytes

/// What a slot of a row becomes under a fold whose edits are plain: each sets a whole slot to a value of the event, or adds
/// a small integer to it.
struct SlotSource: BitwiseCopyable, Sendable {
    enum Kind: BitwiseCopyable { case kept, input, sum }

    var kind = Kind.kept
    /// Which input it is, or what is added.
    var number = 0

    /// One for each slot; none where an edit is not plain, or a slot has two.
    static func sources(of edits: [DeclarativeFold.CompiledEdit], slots: Int) -> Slots<SlotSource> {
        var sources = Slots(repeating: SlotSource(), count: slots)
        for edit in edits {
            guard edit.within.isEmpty, case .kept = sources[edit.slot].kind else { return Slots(capacity: 1) }
            switch (edit.kind, edit.value) {
            case (.set, .input(let input)): sources[edit.slot] = SlotSource(kind: .input, number: input)
            case (.add, .constant(let text)):
                guard let number = text.lent.plainInteger else { return Slots(capacity: 1) }
                sources[edit.slot] = SlotSource(kind: .sum, number: number)
            default: return Slots(capacity: 1)
            }
        }
        return sources
    }
}

extension RowLayout {
    /// Appends the state that a state becomes; false where a sum is not one of small integers.
    ///
    /// - Parameter inputs: where the operation's values are.
    static func write(
        _ sources: borrowing Slots<SlotSource>, old: RawSpan, operation: RawSpan, inputs: borrowing Slots<ByteSlice>,
        into state: inout ByteBuffer
    ) -> Bool {
        let base = state.count &+ 4
        let count = sources.count
        var offset = 4 &+ count &* 4
        state.append(old.slice(0, offset))
        // What of the operation is still to be written: values that follow each other there and here are one copy.
        var (start, end) = (0, 0)
        for slot in 0 ..< count {
            let size = Int(old.load(Int32.self, at: 4 &+ slot &* 4))
            let here = offset
            offset &+= max(size, 0)
            switch sources[slot].kind {
            // An absent source leaves its target as it is.
            case .input where inputs[sources[slot].number].isPresent:
                let value = inputs[sources[slot].number]
                if value.start != end {
                    if end > start { state.append(operation.slice(start, end &- start)) }
                    start = value.start
                }
                end = value.start &+ value.size
                state.store(littleEndian: value.count, at: base &+ slot &* 4)
            case .kept, .input:
                if end > start { state.append(operation.slice(start, end &- start)) }
                (start, end) = (0, 0)
                if size > 0 { state.append(old.slice(here, size)) }
            case .sum:
                if end > start { state.append(operation.slice(start, end &- start)) }
                (start, end) = (0, 0)
                guard size >= 0, let number = old.slice(here, size).plainInteger else { return false }
                let written = state.count
                // Both have at most 18 digits, so their sum is an integer of this machine.
                state.append(integer: number &+ sources[slot].number)
                state.store(littleEndian: Int32(truncatingIfNeeded: state.count &- written), at: base &+ slot &* 4)
            }
        }
        if end > start { state.append(operation.slice(start, end &- start)) }
        return true
    }
}
