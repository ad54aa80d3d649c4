internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// The state of the log as of one transaction: the numbers, the log's end and the overlay that completes the indexes. All lookups by stream
/// or id go through it.
struct LogSnapshot {
    let numbers: StateRows.Numbers
    let last: Position
    let overlay: Overlay

    var epoch: Epoch { numbers.epoch }

    var unswept: UInt64 { last.events(after: numbers.indexed) }

    /// Nil where the transaction is too old and must be begun again.
    init?(_ transaction: borrowing ReadTransaction, _ access: LogAccess, _ overlays: Overlays) throws {
        numbers = try StateRows.numbers(transaction, access.tables)
        last = try Blocks.last(transaction, access)
        try numbers.check(last)
        guard let overlay = overlays.overlay(numbers) else { return nil }
        self.overlay = overlay
    }

    /// The state that this process has left with its last commit; nil where it is outdated.
    init?(_ numbers: StateRows.Numbers, last: Position, _ overlays: Overlays) {
        guard let overlay = overlays.overlay(numbers) else { return nil }
        (self.numbers, self.last, self.overlay) = (numbers, last, overlay)
    }

    /// An overlay of its own, for use when other threads have extended the shared one beyond this transaction.
    private var alone: Overlay { Overlay(epoch: epoch, base: numbers.indexed) }

    func streamID(_ name: String, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> UInt64? {
        let found = try overlay.look(asOf: last, transaction, access) { $0.streams[name] }.answer
        guard let found else { return try Indexes.stream(name, transaction, access.tables) }
        return found <= last.rawValue ? found : nil
    }

    /// Finds a stream by its name. If it is not found and rows of `streams` are missing, the index is damaged, and the stream not unknown.
    func knownStreamID(_ name: String, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> UInt64? {
        let found = try streamID(name, transaction, access)
        if found == nil { try Indexes.requireStreams(transaction, access.tables) }
        return found
    }

    func head(_ stream: UInt64, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> StreamHead? {
        var found = try overlay.look(asOf: last, transaction, access) { $0.heads[stream] }.answer
        if let head = found, head.position > last {
            found = try alone.look(asOf: last, transaction, access) { $0.heads[stream] }.answer
        }
        guard let head = try found ?? Indexes.head(stream, transaction, access.tables) else { return nil }
        // After a row that no store has written, not even the next revision could be counted.
        guard head.position <= last, head.jump <= head.position, head.revision.rawValue < head.position.rawValue else {
            throw Indexes.damaged("heads")
        }
        return head
    }

    /// The head of a stream that has events: a missing head means a damaged index, not an unknown stream.
    func knownHead(_ stream: UInt64, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> StreamHead? {
        let found = try head(stream, transaction, access)
        if found == nil, Guard.headRow.isOn { throw Indexes.damaged("heads") }
        return found
    }

    func position(_ id: IDKey, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Position? {
        let found = try overlay.look(asOf: last, transaction, access) { $0.ids[id] }.answer
        guard let found = try found ?? Indexes.position(id, transaction, access.tables) else { return nil }
        return found <= last.rawValue ? Position(found) : nil
    }

    func census(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> [IndexEntries.CensusKey: UInt64] {
        var (later, through) = try overlay.look(asOf: last, transaction, access) { $0.census }
        if through > last { (later, through) = try alone.look(asOf: last, transaction, access) { $0.census } }
        let census = try Indexes.census(transaction, access.tables).merging(later) { $0.plus($1) }
        // Each event may be counted only once.
        guard census.values.sum({ $0 }) <= last.rawValue else { throw Indexes.damaged("census") }
        return census
    }
}

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
