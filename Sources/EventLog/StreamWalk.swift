internal import EventModel
internal import LMDB

/// Walks one stream along its back and jump pointers; checks each block it meets once.
struct StreamWalk {
    let stream: UInt64
    let head: StreamHead
    let access: LogAccess
    private var checked: Set<UInt64> = []

    init(_ stream: UInt64, _ head: StreamHead, _ access: LogAccess) {
        (self.stream, self.head, self.access) = (stream, head, access)
    }

    /// The position of a revision that the stream has: O(log n) records are looked at.
    mutating func position(of revision: Revision, _ transaction: borrowing ReadTransaction) throws -> Position {
        var cursor = try transaction.cursor(access.tables.blocks)
        var at = (revision: head.revision.rawValue, position: head.position)
        while at.revision > revision.rawValue {
            let record = try record(at.revision, at: at.position, &cursor)
            let jump = JumpList.target(of: at.revision)
            at = jump >= revision.rawValue ? (jump, record.jump) : (at.revision - 1, record.previous)
        }
        return at.position
    }

    /// Lends up to `limit` events from a revision on downwards, until `body` returns false.
    mutating func backwards(
        from revision: Revision, limit: Int, _ transaction: borrowing ReadTransaction, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        var position = try position(of: revision, transaction)
        var cursor = try transaction.cursor(access.tables.blocks)
        var revision = revision.rawValue
        for index in 0 ..< limit {
            let record = try record(revision, at: position, &cursor)
            if try !body(record) || revision == 0 || index == limit - 1 { return }
            (revision, position) = (revision - 1, record.previous)
        }
    }

    /// Lends up to `limit` events from a revision on upwards: goes to the last of them, walks back
    /// and reverses.
    mutating func forwards(
        from revision: Revision, limit: Int, _ transaction: borrowing ReadTransaction, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        let count = min(UInt64(limit), head.revision.rawValue - revision.rawValue + 1)
        let last = revision.rawValue + count - 1
        var position = try position(of: Revision(last), transaction)
        var cursor = try transaction.cursor(access.tables.blocks)
        var positions: [Position] = []
        positions.reserveCapacity(Int(count))
        for number in (revision.rawValue ... last).reversed() {
            positions.append(position)
            if number > revision.rawValue { position = try record(number, at: position, &cursor).previous }
        }
        for (offset, position) in positions.reversed().enumerated() {
            let record = try record(revision.rawValue + UInt64(offset), at: position, &cursor)
            if try !body(record) { return }
        }
    }

    @_lifetime(copy cursor)
    @_lifetime(cursor: copy cursor)
    private mutating func record(_ revision: UInt64, at position: Position, _ cursor: inout Cursor) throws -> RecordView {
        guard try Blocks.seek(&cursor, holding: position) else {
            throw EvstoreError.corruptBlock(position: position, reason: "a pointer of the stream \(stream) leads outside the log")
        }
        let first = try Blocks.position(cursor.key)
        let isNew = checked.insert(first.rawValue).inserted
        let block =
            isNew ? try Blocks.view(cursor, access) : BlockView(trusting: cursor.value, at: first, access.names)
        guard position <= block.last else {
            throw EvstoreError.corruptBlock(position: position, reason: "a pointer of the stream \(stream) leads outside the log")
        }
        let record = block.record(Int(position.rawValue - first.rawValue))
        guard record.streamID == stream, record.revision.rawValue == revision else {
            throw EvstoreError.corruptBlock(position: position, reason: "a pointer of the stream \(stream) leads to another event")
        }
        return record
    }
}
