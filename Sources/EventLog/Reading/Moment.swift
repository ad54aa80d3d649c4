internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// The state of the log as of one transaction: the numbers, the log's end and the overlay that
/// completes the indexes. Everything that is looked up by stream or id goes through here.
struct Moment {
    let numbers: StateRows.Numbers
    let last: Position
    let overlay: Overlay

    var epoch: Epoch { numbers.epoch }

    /// Nil where the transaction is too old and must be begun again.
    init?(_ transaction: borrowing ReadTransaction, _ access: LogAccess, _ overlays: Overlays) throws {
        numbers = try StateRows.numbers(transaction, access.tables)
        last = try Blocks.last(transaction, access)
        guard let overlay = overlays.overlay(numbers) else { return nil }
        self.overlay = overlay
    }

    /// The same moment with an overlay of its own, for when other threads have extended the shared one
    /// beyond what this transaction sees.
    private init(alone moment: Moment) {
        (numbers, last) = (moment.numbers, moment.last)
        overlay = Overlay(epoch: moment.epoch, base: moment.numbers.indexed)
    }

    func streamID(_ name: String, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> UInt64? {
        let found = try overlay.look(asOf: last, transaction, access) { $0.streams[name] }.answer
        guard let found else { return try Indexes.stream(name, transaction, access.tables) }
        return found <= last.rawValue ? found : nil
    }

    func head(_ stream: UInt64, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> StreamHead? {
        let found = try overlay.look(asOf: last, transaction, access) { $0.heads[stream] }.answer
        guard let found else { return try Indexes.head(stream, transaction, access.tables) }
        return found.position <= last ? found : try Moment(alone: self).head(stream, transaction, access)
    }

    /// The head of a stream that has events; one without a head means a damaged index, not an unknown stream.
    func knownHead(
        _ stream: UInt64, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    )
        throws -> StreamHead?
    {
        let found = try head(stream, transaction, access)
        if found == nil, Guard.headRow.isOn { throw Indexes.damaged("heads") }
        return found
    }

    func position(
        _ id: IDKey, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws
        -> Position?
    {
        let found = try overlay.look(asOf: last, transaction, access) { $0.ids[id] }.answer
        guard let found = try found ?? Indexes.position(id, transaction, access.tables) else { return nil }
        return found <= last.rawValue ? Position(found) : nil
    }

    func census(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> [IndexEntries.Kind: UInt64] {
        let (later, through) = try overlay.look(asOf: last, transaction, access) { $0.census }
        if through > last { return try Moment(alone: self).census(transaction, access) }
        return try Indexes.census(transaction, access.tables).merging(later) { $0 + $1 }
    }
}
