internal import EventModel
internal import LMDB
internal import Platform

/// The index entries that are not in the tables yet: those of the blocks after `base`, kept in memory and
/// extended as the log grows. One epoch and one base each; a sweep or a cut brings a new overlay.
final class Overlay: Sendable {
    private struct State {
        var through: Position
        var entries = IndexEntries()
    }

    let epoch: Epoch
    /// The events up to here are in the tables.
    let base: Position
    private let state: Monitor<State>

    init(epoch: Epoch, base: Position) {
        (self.epoch, self.base) = (epoch, base)
        state = Monitor(State(through: base))
    }

    /// The last event whose entries are here.
    var through: Position { state.withLock { $0.through } }
    var events: UInt64 { state.withLock { $0.entries.events } }

    /// Adds the blocks that a transaction sees and the overlay does not have, then looks something up; also returns
    /// up to which position the answer holds, which may be beyond what the transaction sees.
    @discardableResult
    func look<R>(
        asOf last: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess, _ body: (IndexEntries) -> R
    ) throws -> (answer: R, through: Position) {
        try state.withLock { state in
            if state.through >= last { return (body(state.entries), state.through) }
            var cursor = transaction.cursor(access.tables.blocks)
            var isThere = try Blocks.seek(&cursor, holding: state.through.next)
            while isThere {
                let block = try Blocks.view(cursor, access)
                if block.last > state.through {
                    state.entries.add(block, after: state.through, access.tables.positionIndexes)
                    state.through = block.last
                }
                isThere = try cursor.next()
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

/// The overlay that is current in this process.
final class Overlays: Sendable {
    private let current = Monitor<Overlay?>(nil)

    /// The overlay for a transaction; nil where the transaction is older than what this process has
    /// seen already and must be begun again.
    func overlay(_ numbers: StateRows.Numbers) -> Overlay? {
        current.withLock { current in
            if let overlay = current {
                let (seen, base) = (overlay.epoch, overlay.base)
                if (seen, base) == (numbers.epoch, numbers.indexed) { return overlay }
                // Within an epoch the indexes only move on; a cut, which begins the next, may take them back.
                if seen > numbers.epoch || seen == numbers.epoch && base > numbers.indexed { return nil }
            }
            let new = Overlay(epoch: numbers.epoch, base: numbers.indexed)
            current = new
            return new
        }
    }
}
