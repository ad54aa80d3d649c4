internal import Bytes

/// The new value of a slot under a fold with plain edits: each sets a whole slot to a value of the event, or adds a small integer to it.
struct SlotSource: BitwiseCopyable, Sendable {
    enum Kind: BitwiseCopyable { case kept, input, sum }

    var kind = Kind.kept
    /// The index of the input, or the number that is added.
    var number = 0

    /// One source for each slot; empty if an edit is not plain or if a slot has two edits.
    static func sources(of edits: [DeclarativeFold.CompiledEdit], slots: Int) -> UniqueArray<SlotSource> {
        var sources = UniqueArray(repeating: SlotSource(), count: slots)
        for edit in edits {
            guard edit.within.isEmpty, case .kept = sources[edit.slot].kind else { return UniqueArray(capacity: 1) }
            switch (edit.kind, edit.value) {
            case (.set, .input(let input)): sources[edit.slot] = SlotSource(kind: .input, number: input)
            case (.add, .constant(let text)):
                guard let number = text.lent.plainInteger else { return UniqueArray(capacity: 1) }
                sources[edit.slot] = SlotSource(kind: .sum, number: number)
            default: return UniqueArray(capacity: 1)
            }
        }
        return sources
    }
}

extension RowLayout {
    /// Appends the new state. Returns false if a sum involves something other than small integers.
    ///
    /// - Parameter inputs: the locations of the operation's values.
    static func write(
        _ sources: borrowing UniqueArray<SlotSource>, old: RawSpan, operation: RawSpan, inputs: borrowing UniqueArray<ByteSlice>,
        into state: inout ByteBuffer
    ) -> Bool {
        let base = state.count &+ 4
        let count = sources.count
        var offset = 4 &+ count &* 4
        state.append(old.slice(0, offset))
        // The range of the operation that is still to be written; values that are adjacent in both places are copied together.
        var (start, end) = (0, 0)
        for slot in 0 ..< count {
            let size = Int(old.load(Int32.self, at: 4 &+ slot &* 4))
            let here = offset
            offset &+= max(size, 0)
            switch sources[slot].kind {
            // An absent source leaves its target unchanged.
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
                // Both have at most 18 digits, so their sum fits an `Int`.
                state.append(integer: number &+ sources[slot].number)
                state.store(littleEndian: Int32(truncatingIfNeeded: state.count &- written), at: base &+ slot &* 4)
            }
        }
        if end > start { state.append(operation.slice(start, end &- start)) }
        return true
    }
}
