internal import Bytes
package import EventModel
package import Hashing
internal import LMDB

extension Generation {
    package var header: GenerationHeader {
        get throws(EvstoreError) { try reading { try header($0) } }
    }

    /// Reads in a transaction, and converts errors into `EvstoreError`.
    func reading<R>(_ body: (borrowing ReadTransaction) throws -> R) throws(EvstoreError) -> R {
        try converting("reading \(directory)", at: directory) { try read(body) }
    }

    func header(_ transaction: borrowing ReadTransaction) throws -> GenerationHeader {
        try note.check()
        return try Self.header(transaction, meta, directory, format, knownHeader)
    }

    /// Determines the format from the first byte of the header's row.
    static func format(of environment: Environment, _ directory: String) throws -> Int {
        let meta = try environment.table(GenerationTable.meta.rawValue)
        return try environment.read { transaction in
            let key = headerKey
            guard let value = try transaction.get(meta, key.lent) else { throw saysNothing(directory) }
            return CheckedTable.format(of: value)
        }
    }

    static func header(
        _ transaction: borrowing ReadTransaction, _ meta: CheckedTable, _ directory: String, _ format: Int, _ known: KnownHeader
    ) throws -> GenerationHeader {
        let key = headerKey
        let header = try meta.get(key.lent, transaction) { text in
            try known.header(of: text) { try GenerationHeader(text, format, in: directory) }
        }
        guard let header else { throw saysNothing(directory) }
        return header
    }

    private static func saysNothing(_ directory: String) -> EvstoreError {
        .storeDamaged(path: directory, reason: "the generation says nothing of itself")
    }

    package func get(_ key: String) throws(EvstoreError) -> [UInt8]? {
        let key = Array(key.utf8)
        return try reading { transaction in try rows.get(key.lent, transaction) { [UInt8](copying: $0) } }
    }

    /// Lends the rows of a range in bytewise key order, or in reverse order, until `body` returns false.
    /// - Returns: the header as of these rows.
    @discardableResult
    package func scan(
        _ range: KeyRange = .all, backwards: Bool = false, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws -> GenerationHeader {
        try read { transaction in
            let header = try header(transaction)
            try rows.forEach(in: range, backwards: backwards, transaction, body)
            return header
        }
    }

    /// Up to `limit` rows of a range as owned copies, for readers that use several transactions.
    package func page(
        _ range: KeyRange = .all, backwards: Bool = false, limit: Int
    ) throws(EvstoreError) -> [(key: [UInt8], value: [UInt8])] {
        try pageAndCheckpoint(range, backwards: backwards, limit: limit).rows
    }

    package func pageAndCheckpoint(
        _ range: KeyRange, backwards: Bool = false, limit: Int
    ) throws(EvstoreError) -> (rows: [(key: [UInt8], value: [UInt8])], checkpoint: Checkpoint) {
        try converting("reading \(directory)", at: directory) {
            var page: [(key: [UInt8], value: [UInt8])] = []
            let header = try scan(range, backwards: backwards) { key, value in
                page.append(([UInt8](copying: key), [UInt8](copying: value)))
                return page.count < limit
            }
            return (page, header.checkpoint)
        }
    }

    /// The events that were not folded, in the order of the log: at most the first `limit` behind a position, or only one event.
    package func quarantined(
        at position: Position? = nil, after start: Position = .start, limit: Int = .max
    ) throws(EvstoreError) -> [QuarantineRow] {
        if limit <= 0 { return [] }
        let range = position.map { QuarantineRow.range($0) } ?? QuarantineRow.range(after: start)
        return try reading { transaction in
            var found: [QuarantineRow] = []
            try quarantine.forEach(in: range, transaction) { key, text in
                found.append(try QuarantineRow(key: key, value: text, in: directory))
                return found.count < limit
            }
            return found
        }
    }

    /// The positions of at most `limit` events that were not folded, from a position on, or backwards from it.
    func quarantinedPositions(from start: Position, backwards: Bool, limit: Int) throws(EvstoreError) -> [Position] {
        let range = backwards ? QuarantineRow.range(upTo: start) : QuarantineRow.range(after: start.previous)
        return try reading { transaction in
            var found: [Position] = []
            try quarantine.forEach(in: range, backwards: backwards, transaction) { key, _ in
                found.append(try QuarantineRow.position(of: key, in: directory))
                return found.count < limit
            }
            return found
        }
    }

    /// The most rows of a quarantine that are in memory at a time, since there may be as many as events.
    private static let quarantinePage = 1_000

    /// Hands over the events that were not folded, in the order of the log, until `body` returns false. Each page is a transaction.
    package func forEachQuarantined(_ body: (QuarantineRow) throws -> Bool) throws {
        var last = Position.start
        while true {
            let page = try quarantined(after: last, limit: Self.quarantinePage)
            for row in page where try !body(row) { return }
            guard page.count == Self.quarantinePage, let end = page.last else { return }
            last = end.position
        }
    }

    /// Sets an empty generation to a checkpoint, as if it had consumed the log up to there, to measure following from that point.
    package func begin(at checkpoint: Checkpoint) throws(EvstoreError) {
        var begun = try header
        (begun.checkpoint, begun.isReady) = (checkpoint, true)
        try converting("writing \(directory)", at: directory) { [begun] in try write { transaction in try put(begun, &transaction) } }
    }

    /// The number of events that at least one of several generations did not fold; an event that several of them lack counts once.
    package static func countQuarantined(_ generations: [Generation]) throws(EvstoreError) -> UInt64 {
        var (walks, sum): ([QuarantineWalk], UInt64) = ([], 0)
        for generation in generations {
            let events = try generation.header.quarantined
            if events > 0 { walks.append(QuarantineWalk(generation)) }
            sum += events
        }
        if walks.count < 2 { return sum }
        var count: UInt64 = 0
        for index in walks.indices { try walks[index].leave(.start) }
        while let first = walks.compactMap(\.next).min() {
            count += 1
            for index in walks.indices { try walks[index].leave(first) }
        }
        return count
    }

    /// A walk over the positions in a quarantine, of which a page is in memory.
    private struct QuarantineWalk {
        private let generation: Generation
        private var page: ArraySlice<Position> = []
        private var isAtEnd = false
        /// The next position; nil at the end.
        var next: Position? { page.first }

        init(_ generation: Generation) { self.generation = generation }

        /// Leaves all positions up to one behind.
        mutating func leave(_ position: Position) throws(EvstoreError) {
            while let first = page.first, first <= position { page.removeFirst() }
            guard page.isEmpty, !isAtEnd else { return }
            page = try generation.quarantinedPositions(after: position, limit: quarantinePage)[...]
            isAtEnd = page.count < quarantinePage
        }
    }

    private func quarantinedPositions(after start: Position, limit: Int) throws(EvstoreError) -> [Position] {
        try reading { transaction in
            var found: [Position] = []
            try quarantine.forEach(in: QuarantineRow.range(after: start), transaction) { key, _ in
                found.append(try QuarantineRow.position(of: key, in: directory))
                return found.count < limit
            }
            return found
        }
    }

    /// Counts and digests all rows again, for comparison with the header.
    package func recount(_ job: Job? = nil) throws(EvstoreError) -> (rows: UInt64, digest: Digest) {
        try converting("reading \(directory)", at: directory) {
            var (count, sum): (UInt64, SetDigest) = (0, SetDigest())
            try scan { key, value in
                sum.insert(key: key, value: value)
                count += 1
                if count % 4_096 == 0 { try job?.check() }
                return true
            }
            return (count, sum.digest)
        }
    }

    /// The keys of rows that do not fit the shape of their definition, with the reasons; at most `limit`.
    package func violations(of definition: Definition, limit: Int = 10) throws(EvstoreError) -> [(key: String, reason: String)] {
        guard let shape = definition.rowShape else { return [] }
        return try converting("reading \(directory)", at: directory) {
            var found: [(key: String, reason: String)] = []
            try scan { key, value in
                if let reason = shape.violation(value) { found.append((String(utf8: key) ?? "", reason)) }
                return found.count < limit
            }
            return found
        }
    }
}
