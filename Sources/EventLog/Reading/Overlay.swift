internal import EventModel
internal import LMDB
internal import Platform

/// The index entries that are not in the tables yet: those of the blocks after `base`, kept in memory and extended as the log grows. Each
/// overlay has one epoch and one base; a sweep or a cut brings a new one.
final class Overlay: Sendable {
    private struct State {
        var through: Position
        var entries = IndexEntries()
    }

    let epoch: Epoch
    /// The tables have the entries of all events up to here.
    let base: Position
    private let state: Monitor<State>

    init(epoch: Epoch, base: Position) {
        (self.epoch, self.base) = (epoch, base)
        state = Monitor(State(through: base))
    }

    /// The last event whose entries the overlay has.
    var through: Position { state.withLock { $0.through } }
    var events: UInt64 { state.withLock { $0.entries.events } }

    /// Adds the blocks that a transaction sees and the overlay lacks, then runs the lookup `body`. Also returns the position as of which
    /// the answer holds, which may be beyond what the transaction sees.
    @discardableResult
    func look<R>(
        asOf last: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess, _ body: (IndexEntries) -> R
    ) throws -> (answer: R, through: Position) {
        try state.withLock { state in
            if state.through < last {
                try Blocks.forEach(after: state.through, transaction, access) { block in
                    state.entries.add(block, after: state.through)
                    state.through = block.last
                    return true
                }
            }
            return (body(state.entries), state.through)
        }
    }

    /// Adds what this process has just committed, without reading it again.
    func merge(first: Position, through: Position, _ add: (inout IndexEntries) -> Void) {
        state.withLock { state in
            // Another thread may have read the new blocks already.
            guard state.through.next == first else { return }
            add(&state.entries)
            state.through = through
        }
    }
}

/// The current overlay of this process.
final class Overlays: Sendable {
    private let current = Monitor<Overlay?>(nil)

    /// The overlay for a transaction; nil where this process has seen a newer state already, so that the transaction must be begun again.
    func overlay(_ numbers: StateRows.Numbers) -> Overlay? {
        current.withLock { current in
            if let overlay = current {
                let (seen, base) = (overlay.epoch, overlay.base)
                if (seen, base) == (numbers.epoch, numbers.indexed) { return overlay }
                // Within an epoch the indexes only move forward; a cut, which begins the next epoch, may move them back.
                if seen > numbers.epoch || seen == numbers.epoch && base > numbers.indexed { return nil }
            }
            let new = Overlay(epoch: numbers.epoch, base: numbers.indexed)
            current = new
            return new
        }
    }
}
