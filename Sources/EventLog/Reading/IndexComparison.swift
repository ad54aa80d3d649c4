internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Compares the indexes with the log: collects during the walk over the log what they must hold, and compares their rows at its end. Its
/// memory does not grow with the log.
///
/// 1. The rows of `streams` and `ids` are summed up (`RowSum`), and so are the entries that follow from the events.
/// 2. Each row of `heads` leads to an event of its stream and has that event's fields. There is one row for each stream, and the events
/// that they count add up to all events: so each leads to the last one.
/// 3. The census is counted again.
/// 4. The numbers of types are 1, 2, 3 …, as many as there are names.
///
/// The codes of these rows, in a sealed store, are not checked again here: the walk over all pages has checked them, or the caller has just
/// made them. A row that is as the log says is right, whoever has written it.
///
/// During a sweep there may be rows of events after `indexed` already, and rows of `heads` may be older than those events: such rows are
/// compared with the events themselves (`Overlay`).
struct IndexComparison {
    /// A set of rows as one number that does not depend on their order: the sum of their hashes. Two different sets have the same sum with
    /// a probability of 1 in 2^64, since nobody knows the seed in advance.
    private struct RowSum: Hashable {
        private static let seed = UInt64.random(in: .min ... .max)
        private(set) var count: UInt64 = 0
        private var sum: UInt64 = 0

        private static func hash(_ key: RawSpan, _ position: UInt64) -> UInt64 {
            seededHash(key, seed &+ position &* 0x9e37_79b9_7f4a_7c15)
        }

        mutating func add(_ key: RawSpan, _ position: UInt64) {
            count &+= 1
            sum &+= Self.hash(key, position)
        }

        mutating func remove(_ key: RawSpan, _ position: UInt64) {
            count &-= 1
            sum &-= Self.hash(key, position)
        }
    }

    private var streams = RowSum()
    private var ids = RowSum()
    private var census = CensusCount()
    /// The next stream whose row of `heads` is to be checked; nil where all were.
    private var nextHead: UInt64? = 0

    /// Adds the index entries that follow from an event.
    mutating func take(_ record: borrowing RecordView) {
        let position = record.position.rawValue
        if record.nameBytes.byteCount > 0 { streams.add(record.nameBytes, position) }
        if record.idGiven { ids.add(IDKey(record).bytes.lent, position) }
        census.add(IndexEntries.CensusKey(type: record.type, born: record.born.rawValue))
    }

    // MARK: Heads

    var hasHeads: Bool { nextHead != nil }

    /// Checks rows of `heads` until a time; returns the streams whose row is wrong.
    mutating func lookAtHeads(
        until end: Instant, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> [Position] {
        guard let first = nextHead else { return [] }
        var next: UInt64?
        var wrong: [Position] = []
        try access.tables.heads.forEach(from: bytes(first), proving: false, transaction) { key, row in
            let (stream, head) = try Self.head(key, row)
            if stream > first, Instant.now >= end {
                next = stream
                return false
            }
            let record = try Blocks.record(at: head.position, transaction, access)
            if record?.streamID != stream || record?.revision != head.revision || record?.jump != head.jump {
                wrong.append(Position(stream))
            }
            return true
        }
        nextHead = next
        return wrong
    }

    private static func head(_ key: RawSpan, _ row: RawSpan) throws -> (stream: UInt64, head: StreamHead) {
        guard key.byteCount == 8, let head = StreamHead(row: row) else { throw Indexes.damaged("heads") }
        return (key.load(UInt64.self, at: 0), head)
    }

    // MARK: At the end of the walk

    /// Compares the rest, in the transaction in which the walk has reached the log's end; returns the findings.
    mutating func end(_ moment: LogSnapshot, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> [Finding] {
        var findings: [Finding] = []
        func note(_ id: String, _ message: String) { findings.append(Finding(id: id, position: nil, message: message)) }
        let (tables, indexed) = (access.tables, moment.numbers.indexed)
        // An overlay of its own: the shared one may be newer than the transaction.
        let tail = try Overlay(epoch: moment.epoch, base: indexed).look(asOf: moment.last, transaction, access) { $0 }.answer
        let begun = streams.count
        for (name, position) in tail.streams { streams.remove(Array(name.utf8).lent, position) }
        for (id, position) in tail.ids { ids.remove(id.bytes.lent, position) }
        if try sum(tables.streams, through: indexed, transaction, { tail.streams[String(utf8: $0) ?? ""] }) != streams {
            note("STORE005", "the index streams does not agree with the log: a stream is not found, or another one in its place")
        }
        if try sum(tables.ids, through: indexed, transaction, { IDKey(row: $0).flatMap { tail.ids[$0] } }) != ids {
            note("STORE005", "the index ids does not agree with the log: an id is not found, or another event in its place")
        }
        if try !headsAreAll(begun.minus(UInt64(tail.streams.count)), moment, tail, transaction, tables) {
            note("STORE005", "the index heads does not agree with the log: a stream lacks its head, or has an event behind it")
        }
        var counted: [IndexEntries.CensusKey: UInt64] = [:]
        census.add(to: &counted)
        if try Indexes.census(transaction, tables).merging(tail.census, uniquingKeysWith: { $0.plus($1) }) != counted {
            note("STORE006", "the census differs from the log")
        }
        if try !Indexes.areTypesNumbered(transaction, tables) { note("STORE005", "the table of types has a number twice, or lacks one") }
        return findings
    }

    /// - Parameter later: returns the position of the event after `indexed` that has a key; nil where there is none.
    private func sum(
        _ rows: RowTable, through indexed: Position, _ transaction: borrowing ReadTransaction, _ later: (RawSpan) -> UInt64?
    ) throws -> RowSum? {
        var sum = RowSum()
        var isRight = true
        try rows.forEachPosition(proving: false, transaction) { key, position in
            if position <= indexed.rawValue { sum.add(key, position) } else if later(key) != position { isRight = false }
            return isRight
        }
        return isRight ? sum : nil
    }

    /// - Parameter begun: how many streams have begun up to `indexed`.
    private func headsAreAll(
        _ begun: UInt64, _ moment: LogSnapshot, _ tail: IndexEntries, _ transaction: borrowing ReadTransaction, _ tables: Tables
    ) throws -> Bool {
        var (found, events): (UInt64, UInt64) = (0, 0)
        var isRight = true
        try tables.heads.forEach(proving: false, transaction) { key, row in
            let (stream, head) = try Self.head(key, row)
            let isLater = tail.heads[stream] != nil
            if !isLater { events = events.plus(head.revision.rawValue.plus(1)) }
            if stream <= moment.numbers.indexed.rawValue { found += 1 } else if !isLater { isRight = false }
            return isRight
        }
        for stream in tail.heads.ids { events = events.plus(tail.heads[stream]?.revision.rawValue.plus(1) ?? 0) }
        return isRight && found == begun && events == moment.last.rawValue
    }
}

extension RowTable {
    /// Lends the rows of a table that maps keys to positions, until `body` returns false.
    /// - Parameter proving: see `forEach`.
    func forEachPosition(
        proving: Bool = true, _ transaction: borrowing ReadTransaction, _ body: (_ key: RawSpan, _ position: UInt64) throws -> Bool
    ) throws {
        try forEach(proving: proving, transaction) { key, row in
            guard row.byteCount == 8 else { throw Indexes.damaged(name) }
            return try body(key, row.load(UInt64.self, at: 0))
        }
    }
}
