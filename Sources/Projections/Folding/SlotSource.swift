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
        _ sources: borrowing Slots<SlotSource>, old: RawSpan, operation: RawSpan, inputs: borrowing Slots<Slice>,
        into state: inout ByteBuffer
    ) -> Bool {
        let base = state.count
        let count = sources.count
        state.append(littleEndian: UInt32(truncatingIfNeeded: count))
        for _ in 0 ..< count { state.append(littleEndian: UInt32.max) }
        var offset = 4 &+ count &* 4
        for slot in 0 ..< count {
            let size = old.load(UInt32.self, at: 4 &+ slot &* 4)
            let here = Slice(offset, size == .max ? -1 : Int(size))
            if size != .max { offset &+= Int(size) }
            let source = sources[slot]
            let start = state.count
            switch source.kind {
            // An absent source leaves its target as it is.
            case .input where inputs[source.number].isPresent:
                let value = inputs[source.number]
                state.append(operation.slice(value.start, value.size))
            case .kept, .input:
                if here.isPresent {
                    state.append(old.slice(here.start, here.size))
                } else {
                    continue
                }
            case .sum:
                guard here.isPresent, let number = old.slice(here.start, here.size).plainInteger else { return false }
                // Both have at most 18 digits, so their sum is an integer of this machine.
                state.append(integer: number &+ source.number)
            }
            state.store(littleEndian: UInt32(truncatingIfNeeded: state.count &- start), at: base &+ 4 &+ slot &* 4)
        }
        return true
    }
}
