internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Platform

extension EventLog {
    /// Reads on the caller's thread. Keep it short: no page that it reads is reused until it ends.
    package func read<R>(_ body: (borrowing LogReader) throws -> R) throws -> R {
        defer { withExtendedLifetime(self) {} }
        do {
            return try body(try reader())
        } catch  where error is StorageError || error is EvstoreError { throw failure(error, doing: "reading the store") }
    }

    func reader() throws -> LogReader {
        while true {
            let transaction = try access.environment.beginRead()
            // Where another thread has seen a newer state meanwhile, this transaction is too old: a new one is not.
            guard let moment = try LogSnapshot(transaction, access, overlays) else { continue }
            return LogReader(transaction: transaction, access: access, moment: moment)
        }
    }
}

/// A consistent snapshot of the log: every answer is as of `last`.
package struct LogReader: ~Copyable {
    package let transaction: ReadTransaction
    package let access: LogAccess
    let moment: LogSnapshot

    /// The position of the last event, or the position before the first.
    package var last: Checkpoint { Checkpoint(epoch: moment.epoch, position: moment.last) }

    package var state: StoreState { get throws { try StateRows.state(transaction, access.tables) } }

    /// The store's numbers and history, without the rest of `state`.
    package var stamp: StateStamp { moment.numbers.stamp }

    /// The link for the next block: that of the last block, or that of the epoch's beginning.
    package var lastLink: Digest { get throws { try Blocks.lastLink(transaction, access, moment.epoch) } }

    package func get(_ catalogue: Catalogue, _ key: [UInt8]) throws -> [UInt8]? {
        try Rows.get(key, transaction, access.tables[catalogue])
    }

    /// The rows whose key begins with `prefix`, in the order of their keys: the first ones, or those from `start` on, at most `limit`.
    package func rows(
        _ catalogue: Catalogue, prefix: [UInt8] = [], from start: [UInt8]? = nil, limit: Int = .max
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        try Rows.all(prefix, transaction, access.tables[catalogue], from: start, limit: limit)
    }

    /// How many rows have keys that begin with `prefix`; O(these rows).
    package func count(_ catalogue: Catalogue, prefix: [UInt8]) throws -> UInt64 {
        try Rows.count(prefix, transaction, access.tables[catalogue])
    }

    /// Lends the rows from the last key to the first, until `body` returns false.
    package func rowsBackwards(_ catalogue: Catalogue, _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool) throws {
        try access.tables[catalogue].forEach(backwards: true, transaction) { try body([UInt8](copying: $0), [UInt8](copying: $1)) }
    }

    package func count(_ catalogue: Catalogue) throws -> Int { try access.tables[catalogue].count(transaction) }

    package func record<R>(at position: Position, _ body: (borrowing RecordView) throws -> R) throws -> R? {
        guard position > .start, let record = try Blocks.record(at: position, transaction, access) else { return nil }
        return try access.open(record, transaction, body)
    }

    /// Lends the event at a position without opening a sealed record, whose payload and metadata must not be read. The fields before them
    /// are checked nevertheless, if the keys are there.
    package func closedRecord<R>(at position: Position, _ body: (borrowing RecordView) throws -> R) throws -> R? {
        guard position > .start, let record = try Blocks.record(at: position, transaction, access) else { return nil }
        try access.prove(record)
        return try body(record)
    }

    package func head(of stream: StreamName) throws -> StreamHead? { try walk(stream)?.head }

    /// Lends up to `limit` events of a stream, upwards or downwards from revision `from`, until `body` returns false. Downwards, a `from`
    /// beyond the last event begins with the last event.
    package func stream(
        _ name: StreamName, from: Revision, limit: Int, backwards: Bool = false, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        guard limit > 0, let walk = try walk(name) else { return }
        if backwards {
            try walk.backwards(from: min(from, walk.head.revision), limit: limit, transaction) { try access.open($0, transaction, body) }
        } else if from <= walk.head.revision {
            try walk.forwards(from: from, limit: limit, transaction) { try access.open($0, transaction, body) }
        }
    }

    /// Lends the events that were appended together with the one at a position, and that one, upwards.
    package func append(around position: Position, _ body: (borrowing RecordView) throws -> Void) throws {
        var first = position
        while first > Position(1), try closedRecord(at: first, { $0.continuesAppend }) == true { first = first.previous }
        try blocks(from: first) { block in
            for index in block.indices {
                let record = block.record(index)
                if record.position > first, !record.continuesAppend { return false }
                try body(record)
            }
            return true
        }
    }

    /// Lends those of them that are of the stream of the one at the position, without a look at the content of the others.
    package func appendInStream(around position: Position, _ body: (borrowing RecordView) throws -> Void) throws {
        guard let (stream, revision) = try closedRecord(at: position, { ($0.streamID, $0.revision) }),
            let head = try moment.knownHead(stream, transaction, access)
        else { return }
        guard revision <= head.revision else { throw Indexes.damaged("heads") }
        try StreamWalk(stream: stream, head: head, access: access).append(of: revision, at: position, transaction, body)
    }

    func walk(_ name: StreamName) throws -> StreamWalk? {
        guard let id = try moment.knownStreamID(name.text, transaction, access) else { return nil }
        return try moment.knownHead(id, transaction, access).map { StreamWalk(stream: id, head: $0, access: access) }
    }

    /// Lends the blocks from the one that holds `from`, until `body` returns false; `indices` of the first one begin at `from`.
    package func blocks(from: Position, _ body: (borrowing BlockView) throws -> Bool) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try Blocks.seek(&cursor, holding: max(from, Position(1))) || cursor.first()
        while isThere {
            var block = try Blocks.view(cursor, access)
            if block.last >= from {
                if from > block.first { block.indices = block.index(after: from.previous) ..< block.count }
                if try !access.open(block, transaction, body) { return }
            }
            isThere = try cursor.next()
        }
    }

    /// The position of the event with an id that a caller gave; nil where there is none.
    package func position(of id: EventID) throws -> Position? {
        guard let position = try moment.position(IDKey(id), transaction, access) else { return nil }
        return try closedRecord(at: position) { $0.id == id } == true ? position : nil
    }

    /// The census as of `last`, exact; sorted by type and birth version.
    package func census() throws -> [CensusRow] {
        try CensusRow.rows(moment.census(transaction, access), names: Indexes.types(transaction, access.tables))
    }

    package func link(at position: Position) throws -> Digest? {
        guard position > .start else { return nil }
        return try Blocks.holding(position, transaction, access)?.link
    }

    /// The link of the block that ends at a position; nil where none does.
    package func blockEnd(at position: Position) throws -> Digest? {
        guard let block = try Blocks.holding(position, transaction, access), block.last == position else { return nil }
        return block.link
    }

    /// For each epoch after the first: the epoch, and the position at which it cut off the one before.
    package func cuts() throws -> [Checkpoint] { try Epochs.all(transaction, access.tables) }

    /// The birth version of a stream's first event; nil where the stream has none.
    package func birth(ofStream name: StreamName) throws -> SchemaVersion? {
        guard let id = try moment.knownStreamID(name.text, transaction, access) else { return nil }
        return try birth(ofStream: id)
    }

    /// The birth version of the first event of a stream, which lies at `id`.
    package func birth(ofStream id: UInt64) throws -> SchemaVersion {
        guard let born = try closedRecord(at: Position(id), { $0.born }) else {
            throw EvstoreError.corruptBlock(position: Position(id), reason: "no stream begins here")
        }
        return born
    }

    /// The name of the stream whose first event lies at `id`.
    package func name(ofStream id: UInt64) throws -> StreamName {
        guard let name = try closedRecord(at: Position(id), { $0.streamName }) ?? nil else {
            throw EvstoreError.corruptBlock(position: Position(id), reason: "no stream begins here")
        }
        return name
    }
}

/// Finds events by ids that no index has: those that the store has made, and those of the parts into which a step splits an event. A
/// UUIDv7 contains the millisecond of its commit, and blocks are in the order of their commits. Keeps the ids of one millisecond, since
/// exported lines come in that order too: at most those of the commits that were made in it.
///
/// If the clock was set back between two commits, events around that time may not be found.
package struct GeneratedIDs {
    private var milliseconds: Int64?
    private var positions: [EventID: Position] = [:]

    package init() {}

    /// Whether an event may have the id without an index that has it.
    package static func mayHave(_ id: EventID) -> Bool { id.isUUIDv7 || id.whole != nil }

    /// Reads the headers of O(log n) blocks for each millisecond, of two if the log was not written then, and once the records of that
    /// millisecond's blocks.
    /// - Parameter reader: of the same state of the log at each call.
    /// - Returns: of a part's id, the position of the event that would have it if a step split it; nil where nothing has the id.
    package mutating func position(of id: EventID, _ reader: borrowing LogReader) throws -> Position? {
        if let whole = id.whole { return try reader.position(of: whole) ?? position(of: whole, reader) }
        guard id.isUUIDv7, let uuid = id.uuid else { return nil }
        let made = Int64(uuid.0 >> 16)
        if milliseconds != made {
            positions.removeAll(keepingCapacity: true)
            try reader.forEachMade(at: made) { positions[$0] = $1 }
            milliseconds = made
        }
        return positions[id]
    }
}

extension LogReader {
    /// Calls `body` with the ids that the store made in a millisecond since 1970, and the positions of their events.
    fileprivate func forEachMade(at made: Int64, _ body: (EventID, Position) -> Void) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        guard try cursor.first(), try milliseconds(cursor) <= made else { return }
        var low = try Blocks.position(cursor.key)
        guard try cursor.last(), try milliseconds(cursor) >= made else { return }
        var high = try Blocks.position(cursor.key)
        // Blocks begin at both; the first block that is not older lies between them.
        while low < high {
            guard try Blocks.seek(&cursor, holding: low.plus(high.events(after: low) / 2)) else { return }
            let begin = try Blocks.position(cursor.key)
            if try milliseconds(cursor) >= made {
                high = begin
            } else {
                guard try cursor.next() else { return }
                low = try Blocks.position(cursor.key)
            }
        }
        guard try Blocks.seek(&cursor, holding: low) else { return }
        while try milliseconds(cursor) == made {
            let block = try Blocks.view(cursor, access)
            for index in 0 ..< block.count {
                let record = block.record(index)
                if !record.idGiven { body(record.id, record.position) }
            }
            if try !cursor.next() { break }
        }
    }

    /// The time of the block's commit, in milliseconds since 1970.
    private func milliseconds(_ cursor: borrowing Cursor) throws -> Int64 {
        guard cursor.value.byteCount >= BlockLayout.headerBytes else {
            throw EvstoreError.corruptBlock(position: try Blocks.position(cursor.key), reason: "the block is shorter than its header")
        }
        return cursor.value.load(Int64.self, at: BlockLayout.Header.time) / 1_000
    }
}

extension EventLog {
    /// Long work: lends the blocks that hold events in (after, through] and may hold one of `types`, in chunks of short read transactions,
    /// until `body` returns false or the log ends. Only `block.indices` lie in the range; a block may hold other types too. The reader
    /// belongs to the chunk's transaction, so that lookups for an event see the same log as the event.
    /// - Parameters:
    ///   - epoch: the epoch of `after`, if it was noted earlier.
    ///   - form: how the blocks of a sealed store are lent.
    /// - Throws: `EvstoreError.epochChanged` where a cut has removed events that were lent, or `after` itself.
    package func scan(
        after: Position, in epoch: Epoch? = nil, through: Position? = nil, types: Set<Name>? = nil, form: LogScan.Form = .opened,
        _ body: (borrowing BlockView, borrowing LogReader) throws -> Bool
    ) throws {
        var scan = LogScan(access, options, after: after, in: epoch, through: through, types: types, form: form)
        while try read({ reader in try scan.runChunk(reader.transaction) { block in try body(block, reader) } }) {}
    }
}

package struct LogScan {
    private let access: LogAccess
    private let options: Options
    private let through: Position
    private let types: Set<Name>?
    private let form: Form
    package private(set) var done: Position
    private var epoch: Epoch?

    /// How the blocks of a sealed store are lent.
    package enum Form: Equatable {
        case opened
        /// Opened except for the personal parts of events of these types and birth versions (`RecordView.isClosed`).
        case openedExceptPersons(of: [EventKind])
        /// Opened except for personal parts, as if all of these had been forgotten.
        case withoutPersons
        /// Sealed, in the form of the log.
        case sealed
    }

    /// - Parameter epoch: the epoch of `after`, if it was noted earlier.
    package init(
        _ access: LogAccess, _ options: Options, after: Position, in epoch: Epoch? = nil, through: Position? = nil,
        types: Set<Name>? = nil, form: Form = .opened
    ) {
        (self.access, self.options, done, self.epoch, self.types, self.form) = (access, options, after, epoch, types, form)
        self.through = through ?? Position(.max)
    }

    /// Lends blocks for as long as one read transaction may last; false where the scan has ended.
    package mutating func runChunk(_ transaction: borrowing ReadTransaction, _ body: (borrowing BlockView) throws -> Bool) throws -> Bool {
        try checkEpoch(transaction)
        let wanted = try types.map { try WantedTypes($0, transaction, access.tables) }
        if let wanted, wanted.ids.isEmpty { return false }
        let persons = try personalParts(transaction)
        let end = Instant.within(options.readSlice)
        var bytes = 0
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try Blocks.seek(&cursor, holding: done.next) || cursor.first()
        while isThere {
            if try Blocks.position(cursor.key) > through { return false }
            var block = try form == .sealed ? Blocks.view(cursor, access) : Blocks.viewToOpen(cursor, access)
            var isProved = form == .sealed || !block.isWhole
            if block.last > done {
                let from = block.index(after: done)
                let to = block.last <= through ? block.count : block.index(after: through)
                block.indices = from ..< max(from, to)
                done = min(block.last, through)
                if !block.indices.isEmpty, wanted.map({ block.holds(anyOf: $0) }) ?? true {
                    isProved = true
                    if try !lend(block, transaction, persons, body) { return false }
                }
                bytes += block.bytes.byteCount
            }
            // A skipped block was judged by its own header: prove it.
            if !isProved { try Blocks.prove(block, access) }
            if done >= through { return false }
            isThere = try cursor.next()
            if bytes >= options.readSliceBytes || Instant.now >= end { return isThere }
        }
        return false
    }

    private func lend(
        _ block: borrowing BlockView, _ transaction: borrowing ReadTransaction, _ persons: RecordOpener.PersonalPartPolicy,
        _ body: (borrowing BlockView) throws -> Bool
    ) throws -> Bool {
        if form == .sealed { try body(block) } else { try access.open(block, transaction, persons: persons, body) }
    }

    private func personalParts(_ transaction: borrowing ReadTransaction) throws -> RecordOpener.PersonalPartPolicy {
        switch form {
        case .opened, .sealed: return .opened
        case .withoutPersons: return .left
        case .openedExceptPersons(let kinds):
            var closed: Set<IndexEntries.CensusKey> = []
            for kind in kinds {
                guard let type = try Indexes.type(kind.type, transaction, access.tables) else { continue }
                closed.insert(IndexEntries.CensusKey(type: type, born: kind.born.rawValue))
            }
            return .leftClosed(RecordOpener.ClosedKinds(keys: closed))
        }
    }

    private mutating func checkEpoch(_ transaction: borrowing ReadTransaction) throws {
        let now = try StateRows.numbers(transaction, access.tables).epoch
        if let epoch, now > epoch {
            let seen = Checkpoint(epoch: epoch, position: done)
            if let cut = try seen.cutOff(by: Epochs.all(transaction, access.tables)) {
                throw EvstoreError.epochChanged(seen: seen, cut: cut)
            }
        }
        epoch = now
    }
}

/// The ids of types, with their mask in the form of a block's mask.
package struct WantedTypes {
    fileprivate var ids: Set<TypeID> = []
    fileprivate var mask: UInt64 = 0

    /// An unknown type has no events.
    fileprivate init(_ types: Set<Name>, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        for type in types {
            guard let id = try Indexes.type(type.text, transaction, tables) else { continue }
            ids.insert(id)
            mask |= 1 << UInt64(id % 64)
        }
    }
}

extension BlockView {
    /// Whether the block has one of the types: compares the mask first, then the names of the types.
    fileprivate func holds(anyOf wanted: WantedTypes) -> Bool {
        mask & wanted.mask != 0 && types.contains { wanted.ids.contains($0.id) }
    }
}

extension LogReader {
    package func wanted(_ types: Set<Name>) throws -> WantedTypes { try WantedTypes(types, transaction, access.tables) }

    /// Lends the records of the block that holds a position, from there back to the block's first one, until `body` returns false.
    /// - Parameter wanted: a block that has none of these types is passed over; nil lends every block.
    /// - Returns: the block's first position where it was passed over.
    /// - Throws: `EvstoreError.corruptBlock` if no block holds the position.
    package func blockBackwards(
        from position: Position, types wanted: WantedTypes? = nil, _ body: (borrowing RecordView) throws -> Bool
    ) throws -> Position? {
        guard var block = try Blocks.holding(position, transaction, access) else {
            throw EvstoreError.corruptBlock(position: position, reason: "there is no such event")
        }
        if let wanted, !block.holds(anyOf: wanted) { return block.first }
        block.indices = 0 ..< block.index(after: position)
        _ = try access.open(block, transaction) { block in
            for index in block.indices.reversed() where try !body(block.record(index)) { break }
            return false
        }
        return nil
    }
}
