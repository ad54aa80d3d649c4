internal import Bytes
internal import EventModel
internal import LMDB

/// Removes the entries of the log's last events from the index tables, before a cut removes the events themselves: in O(removed events),
/// one part after the other, so that memory is bounded.
enum IndexTruncation {
    /// The entries that the tables lose for a run of consecutive events.
    private struct Part {
        /// The last event that stays.
        let kept: Position
        /// How far the census counts.
        let indexed: Position
        /// The last event of the run.
        var through: Position
        /// The names of the streams that began in the run.
        var streams: [[UInt8]] = []
        /// The streams whose heads change, with the event that becomes the last one; nil where none is left.
        var heads: [(stream: UInt64, head: StreamHead?)] = []
        var ids: [IDKey] = []
        var census: [IndexEntries.CensusKey: UInt64] = [:]

        init(after done: Position, kept: Position, indexed: Position) { (through, self.kept, self.indexed) = (done, kept, indexed) }
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
            var part = Part(after: done, kept: position, indexed: indexed)
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
