internal import Bytes
internal import EventModel
internal import LMDB

/// Walks one stream along its back and jump pointers; checks each record that it lends.
struct StreamWalk {
    let stream: UInt64
    let head: StreamHead
    let access: LogAccess
    /// The most events that an upwards walk holds on the stack at once.
    private static let fewEvents: UInt64 = 64

    /// The position of an existing revision. Reads O(log n) records.
    private func position(of revision: Revision, _ cursor: inout Cursor) throws -> Position {
        var at = (revision: head.revision.rawValue, position: head.position)
        while at.revision > revision.rawValue {
            let record = try record(at.revision, at: at.position, &cursor)
            let jump = JumpList.target(of: at.revision)
            at = jump >= revision.rawValue ? (jump, record.jump) : (at.revision - 1, record.previous)
        }
        return at.position
    }

    /// Lends up to `limit` events from a revision on downwards, without opening sealed records, until `body` returns false.
    func backwards(
        from revision: Revision, limit: Int, _ transaction: borrowing ReadTransaction, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        var position = try position(of: revision, &cursor)
        var revision = revision.rawValue
        for index in 0 ..< limit {
            let record = try record(revision, at: position, &cursor)
            if try !body(record) || revision == 0 || index == limit - 1 { return }
            (revision, position) = (revision - 1, record.previous)
        }
    }

    /// Lends up to `limit` events from a revision on upwards, without opening sealed records, until `body` returns false: goes to the last
    /// of them, walks back and lends them in reverse, one run after the other.
    func forwards(
        from revision: Revision, limit: Int, _ transaction: borrowing ReadTransaction, _ body: (borrowing RecordView) throws -> Bool
    ) throws {
        let last = revision.rawValue.plus(min(UInt64(limit) - 1, head.revision.rawValue.minus(revision.rawValue)))
        var cursor = transaction.cursor(access.tables.blocks)
        var (number, position) = (last, try position(of: Revision(last), &cursor))
        // From the last run to the first; the first event of a run is known only when the run before it is.
        var runs = [Run(first: revision.rawValue, last: number, position: position)]
        while number.minus(revision.rawValue) >= Self.fewEvents {
            for _ in 0 ..< Self.fewEvents {
                position = try record(number, at: position, &cursor).previous
                number -= 1
            }
            runs[runs.count - 1].first = number + 1
            runs.append(Run(first: revision.rawValue, last: number, position: position))
        }
        for run in runs.reversed() where try !lend(run, &cursor, body) { return }
    }

    /// Lends the events of the stream that were appended together with one of them, and that one, upwards: walks back from it to the first
    /// of them, then goes up as long as events belong to the append, each time over twice as many.
    func append(
        of revision: Revision, at position: Position, _ transaction: borrowing ReadTransaction,
        _ body: (borrowing RecordView) throws -> Void
    ) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        var (first, at) = (revision.rawValue, position)
        while first > 0 {
            let previous = try record(first, at: at, &cursor).previous
            guard try Blocks.areTogether(previous, at, &cursor, access) else { break }
            (first, at) = (first - 1, previous)
        }
        var (next, last, isWhole) = (first, at, true)
        var limit = Int(clamping: revision.rawValue.minus(first).plus(2))
        while isWhole, next <= head.revision.rawValue {
            try forwards(from: Revision(next), limit: limit, transaction) { record in
                // What lies before `position` was found to belong to the append already.
                if record.position > position { isWhole = try Blocks.areTogether(last, record.position, &cursor, access) }
                if isWhole {
                    try access.open(record, transaction, body)
                    (next, last) = (next + 1, record.position)
                }
                return isWhole
            }
            limit = limit.plus(limit)
        }
    }

    /// Consecutive revisions of the stream, and the position of the last one.
    private struct Run {
        var first, last: UInt64
        var position: Position
    }

    private func lend(_ run: Run, _ cursor: inout Cursor, _ body: (borrowing RecordView) throws -> Bool) throws -> Bool {
        let record = try record(run.last, at: run.position, &cursor)
        if run.last > run.first {
            let before = Run(first: run.first, last: run.last - 1, position: record.previous)
            if try !lend(before, &cursor, body) { return false }
        }
        return try body(record)
    }

    @_lifetime(copy cursor)
    @_lifetime(cursor: copy cursor)
    private func record(_ revision: UInt64, at position: Position, _ cursor: inout Cursor) throws -> RecordView {
        guard position > .start, let record = try Blocks.record(at: position, &cursor, access) else {
            throw EvstoreError.corruptBlock(position: position, reason: "a pointer of the stream \(stream) leads outside the log")
        }
        guard record.streamID == stream, record.revision.rawValue == revision else {
            throw EvstoreError.corruptBlock(position: position, reason: "a pointer of the stream \(stream) leads to another event")
        }
        return record
    }
}

/// The earlier revision of its stream that a record's jump pointer leads to: Myers' skew-binary jump list ("An applicative random-access
/// stack", 1983). It reaches any revision in O(log n) steps.
package enum JumpList {
    /// jump(n) = jump(jump(p)) if r(p) - r(jump p) = r(jump p) - r(jump jump p), else p, with p = n - 1
    /// and jump(0) = 0. That is n less the weight (2^k - 1) of n's lowest digit in skew binary.
    static func target(of revision: UInt64) -> UInt64 {
        if revision == 0 { return 0 }
        var rest = revision
        var weight: UInt64 = 0
        while rest > 0 {
            // The largest 2^k - 1 that is not more than `rest`.
            weight = UInt64.max >> UInt64(rest.leadingZeroBitCount)
            if weight > rest { weight >>= 1 }
            rest -= weight
        }
        return revision - weight
    }

    /// Whether the jump pointer of `revision` equals that of its predecessor's jump target, which then has to be looked up; otherwise it
    /// leads to the predecessor.
    package static func isMerging(_ revision: UInt64) -> Bool { revision > 1 && target(of: revision) != revision - 1 }
}
