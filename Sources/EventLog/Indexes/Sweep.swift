internal import Bytes
internal import EventModel
internal import LMDB

/// Writes the entries of the overlay to the index tables: in slices, in the order of keys, along with commits that are big enough to carry
/// them. The last slice moves `indexed` and writes the census.
struct Sweep {
    /// The value of `indexed` while the sweep runs; another value means that another process has swept.
    let from: Position
    let epoch: Epoch
    let target: Position
    private let streams: [(name: String, id: UInt64)]
    private let ids: [(key: IDKey, position: UInt64)]
    private let heads: [UInt64]
    private let census: [IndexEntries.CensusKey: UInt64]
    private var done = 0

    /// Sweeps everything after `indexed`, in a transaction that holds LMDB's lock.
    init(_ moment: LogSnapshot, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws {
        let (entries, through) = try moment.overlay.look(asOf: moment.last, transaction, access) { $0 }
        self.init(entries, from: moment.numbers.indexed, moment.epoch, through: through)
    }

    /// Sweeps the given entries of the events after `from`.
    init(_ entries: IndexEntries, from: Position, _ epoch: Epoch, through target: Position) {
        (self.from, self.epoch, self.target) = (from, epoch, target)
        streams = entries.streams.map { ($0.key, $0.value) }.sorted { $0.name < $1.name }
        ids = entries.ids.map { ($0.key, $0.value) }.sorted { $0.key < $1.key }
        heads = entries.heads.ids.sorted()
        census = entries.census
    }

    private var total: Int { streams.count + ids.count + heads.count }
    var isFinished: Bool { done == total }

    func fits(_ numbers: StateRows.Numbers) -> Bool { numbers.epoch == epoch && numbers.indexed == from }

    /// Writes the next entries. `head` returns a stream's head under LMDB's lock, which may be beyond the target.
    /// - Returns: whether this was the last slice, so that `indexed` has moved.
    mutating func write(
        _ count: Int, _ transaction: inout WriteTransaction, _ tables: Tables,
        head: (UInt64, borrowing ReadTransaction) throws -> StreamHead?
    ) throws -> Bool {
        let end = min(done + count, total)
        var key = ByteBuffer()
        var value = ByteBuffer()
        while done < end {
            key.removeAll()
            value.removeAll()
            if done < streams.count {
                let (name, id) = streams[done]
                key.append(name)
                value.append(littleEndian: id)
                try tables.streams.put(key.bytes, value.bytes, &transaction)
            } else if done < streams.count + ids.count {
                let (id, position) = ids[done - streams.count]
                value.append(littleEndian: position)
                try tables.ids.put(id.bytes.lent, value.bytes, &transaction)
            } else {
                let stream = heads[done - streams.count - ids.count]
                guard let head = try head(stream, transaction.reads) else { throw Indexes.damaged("heads") }
                key.append(littleEndian: stream)
                Indexes.append(head, to: &value)
                try tables.heads.put(key.bytes, value.bytes, &transaction)
            }
            done += 1
        }
        guard isFinished else { return false }
        let counts = try Indexes.census(transaction.reads, tables).merging(census) { $0.plus($1) }
        guard counts.values.sum({ $0 }) <= target.rawValue else { throw Indexes.damaged("census") }
        for (kind, count) in counts {
            try tables.census.put(kind.key.lent, bytes(count).lent, &transaction)
        }
        try StateRows.put(indexed: target, &transaction, tables)
        return true
    }
}

/// Writes the index tables of a log that is not in use yet, one part of the log after the other, so that memory is bounded.
enum Reindexing {
    private static let eventsAtOnce: UInt64 = 250_000

    /// - Parameter progress: runs between the parts; an error that it throws ends the work.
    static func run(_ access: LogAccess, _ progress: () throws -> Void) throws {
        while try access.environment.write(nil, { try indexNext(&$0, access) }) { try progress() }
    }

    /// False where nothing is left to do.
    private static func indexNext(_ transaction: inout WriteTransaction, _ access: LogAccess) throws -> Bool {
        let numbers = try StateRows.numbers(transaction.reads, access.tables)
        var entries = IndexEntries()
        var target = numbers.indexed
        try Blocks.forEach(after: target, transaction.reads, access) { block in
            entries.add(block, after: target)
            target = block.last
            return entries.events < eventsAtOnce
        }
        if target == numbers.indexed { return false }
        var sweep = Sweep(entries, from: numbers.indexed, numbers.epoch, through: target)
        return try sweep.write(.max, &transaction, access.tables) { stream, _ in entries.heads[stream] }
    }
}

/// Removes the entries of the log's last events from the index tables, before a cut removes the events themselves: in O(removed events),
/// one part after the other, so that memory is bounded.
enum IndexTruncation {
    /// The entries that the tables lose for a run of consecutive events.
    private struct Part {
        /// The last event that stays.
        let kept: Position
        /// How far the census counts.
        let indexed: Position
        var through: Position
        var streams: [[UInt8]] = []
        /// The streams whose heads change, with the event that becomes the last one; nil where none is left.
        var heads: [(stream: UInt64, head: StreamHead?)] = []
        var ids: [IDKey] = []
        var census: [IndexEntries.CensusKey: UInt64] = [:]
    }

    /// Removes all entries of events after a position.
    /// - Parameter eventsAtOnce: the approximate number of events in a part.
    /// - Returns: how far the tables are written now.
    /// - Throws: `EvstoreError.corruptBlock`.
    static func run(
        after position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess, eventsAtOnce: UInt64 = 250_000
    ) throws -> Position {
        let indexed = try StateRows.numbers(transaction.reads, access.tables).indexed
        var counts = try Indexes.census(transaction.reads, access.tables)
        var done = position
        // Also beyond `indexed`: a sweep that has begun has written some of those entries.
        while true {
            var part = Part(kept: position, indexed: indexed, through: done)
            try gather(&part, eventsAtOnce, transaction.reads, access)
            if part.through == done { break }
            try remove(part, &transaction, access.tables)
            for (kind, count) in part.census {
                guard let counted = counts[kind], counted >= count else { throw Indexes.damaged("census") }
                counts[kind] = counted - count
            }
            done = part.through
        }
        if indexed <= position { return indexed }
        for (kind, count) in counts {
            if count > 0 {
                try access.tables.census.put(kind.key.lent, bytes(count).lent, &transaction)
            } else {
                try access.tables.census.delete(kind.key.lent, &transaction)
            }
        }
        return position
    }

    private static func gather(
        _ part: inout Part, _ eventsAtOnce: UInt64, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws {
        let done = part.through
        try Blocks.forEach(after: done, transaction, access) { block in
            for index in block.index(after: done) ..< block.count { try add(block.record(index), to: &part, transaction, access) }
            part.through = block.last
            return part.through.events(after: done) < eventsAtOnce
        }
    }

    private static func add(
        _ record: borrowing RecordView, to part: inout Part, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws {
        if record.idGiven { part.ids.append(IDKey(record)) }
        if record.position <= part.indexed {
            part.census[IndexEntries.CensusKey(type: record.type, born: record.born.rawValue), default: 0] += 1
        }
        if let name = record.streamName {
            part.streams.append(Array(name.text.utf8))
            part.heads.append((record.streamID, nil))
        } else if record.previous <= part.kept {
            // This is the first removed event of its stream. A stream that begins after `indexed` needs no head: the next sweep writes it.
            guard record.streamID <= part.indexed.rawValue else { return part.heads.append((record.streamID, nil)) }
            guard let last = try Blocks.record(at: record.previous, transaction, access), last.streamID == record.streamID else {
                throw EvstoreError.corruptBlock(position: record.position, reason: "its pointer leads to no event of its stream")
            }
            part.heads.append((record.streamID, StreamHead(revision: last.revision, position: last.position, jump: last.jump)))
        }
    }

    private static func remove(_ part: Part, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        for name in part.streams.sorted(by: { $0.lexicographicallyPrecedes($1) }) { try tables.streams.delete(name.lent, &transaction) }
        for id in part.ids.sorted() { try tables.ids.delete(id.bytes.lent, &transaction) }
        var row = ByteBuffer()
        for (stream, head) in part.heads.sorted(by: { $0.stream < $1.stream }) {
            guard let head else {
                try tables.heads.delete(bytes(stream).lent, &transaction)
                continue
            }
            row.removeAll()
            Indexes.append(head, to: &row)
            try tables.heads.put(bytes(stream).lent, row.bytes, &transaction)
        }
    }
}
