internal import EventLog
internal import EventModel
internal import Platform
internal import Projections

extension EventStore {
    /// Gives rows of a read model to `body` in the order of their keys' bytes until it returns false; first catches up with the log's
    /// current end.
    ///
    /// Meant for a walk over many rows. An actor should call the forms that return rows, since `body` can't be isolated to it.
    ///
    /// Waits while the events appended since the last query are folded; where there are none, there is no wait. A read model that was never
    /// built is built first, with all others of the version that were not: one pass over the log serves them all. Where another caller or
    /// process is folding into it, this call waits for that one, at most `Options.readModelDeadline`. Rows are read and given to `body` on
    /// one of the store's threads, in pages of `Options.pageEventsMax`; no transaction is open while `body` runs.
    ///
    /// - Parameters:
    ///   - projection: the name of a projection that the version has; otherwise `unknownProjection` is thrown.
    ///   - version: the version at which the read model is read, from the floor to the top, whatever is live; nil is the working version.
    ///   - key: asks for one row; an unknown key gives none.
    ///   - prefix: asks for the rows whose keys begin with it.
    ///   - from: asks for the rows whose keys are equal to it or sort behind it.
    ///   - to: asks for the rows whose keys sort before it.
    ///   - backwards: whether the last row comes first.
    ///   - cursor: continues behind a row that was given before, in the direction of this query; nil begins with the first row. The cursor
    ///     of an index throws `usage`.
    ///   - body: gets one row at a time, on one of the store's threads; returns whether it wants the next one.
    /// - Returns: what the rows were read from, and how far that lags behind the log where it can't be brought to the end: on a read-only
    ///   handle, and on a full disk with `Options.queriesMayLag`.
    /// - Throws: `EvstoreError`: unknownProjection; notLive for a version that only this program knows yet; usage where the cursor is one
    ///   of an index; where the read model was never built or is gone, belowFloor, notLive for a version above the top, readOnly and
    ///   programNeeded; deadlinePassed and migrationInProgress, which name the holder of the read model; diskFull, interrupted; or what
    ///   `body` throws, unconverted.
    @discardableResult
    public func query(
        _ projection: String, at version: SchemaVersion? = nil, key: String? = nil, prefix: String? = nil, from: String? = nil,
        to: String? = nil, backwards: Bool = false, after cursor: QueryCursor? = nil, _ body: (ReadModelRow) throws -> Bool
    ) async throws -> QueryNote {
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag)
        var range = KeyRange(prefix: prefix, from: from, to: to)
        try cursor?.leave(&range, backwards: backwards)
        var rows = RowCursor(model.generation, key: key, range, backwards: backwards, pageRows: options.pageEventsMax)
        try await StoreThreads.run {
            while let row = try rows.next() {
                if try !body(row) { break }
            }
        }
        return model.note
    }

    /// The row of a key; nil where there is none.
    func row(_ projection: String, at version: SchemaVersion?, key: String) async throws(EvstoreError) -> ReadModelRow? {
        var rows = RowCursor(try await readModel(projection, at: version).generation, key: key, pageRows: 1)
        return try rows.next()
    }

    /// Counts the rows of a read model: the read model's header gives the number of all rows; the rows of a range are counted one by one.
    /// Waits and throws as `query` does.
    public func count(
        _ projection: String, at version: SchemaVersion? = nil, key: String? = nil, prefix: String? = nil, from: String? = nil,
        to: String? = nil
    ) async throws(EvstoreError) -> (rows: UInt64, note: QueryNote) {
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag)
        let range = KeyRange(prefix: prefix, from: from, to: to)
        if key == nil, range == .all { return (try model.generation.header.rows, model.note) }
        var rows = RowCursor(model.generation, key: key, range, pageRows: options.pageEventsMax)
        let count = try await StoreThreads.run { () throws(EvstoreError) in
            var count: UInt64 = 0
            while try rows.next() != nil { count += 1 }
            return count
        }
        return (count, model.note)
    }

    /// Gives the keys whose rows differ between two versions to `body`, in key order, until it returns false.
    ///
    /// Catches both read models up with the log's end as `query` does, then reads all rows of both on one of the store's threads.
    /// - Throws: `EvstoreError`, as `query` does, but regardless of `Options.queriesMayLag`; ioFailure where one of the two can't be
    ///   brought as far as the other; or what `body` throws, unconverted.
    @discardableResult
    public func diff(
        _ projection: String, a: SchemaVersion, b: SchemaVersion, key: String? = nil, _ body: (RowDifference) throws -> Bool
    ) async throws -> (a: QueryNote, b: QueryNote) {
        let end = try last().position
        let first = try await readModel(projection, at: a, to: end)
        let second = try await readModel(projection, at: b, to: end)
        guard first.note.lag == second.note.lag else {
            let (behind, ahead) = first.note.lag > second.note.lag ? (first.note, second.note) : (second.note, first.note)
            throw EvstoreError.ioFailure(
                doing: "comparing \(projection) at \(a) and \(b)",
                reason: "\(behind.version) is \(counted(behind.lag - ahead.lag, "event")) behind \(ahead.version): \(behind.reason ?? "")")
        }
        try await StoreThreads.run {
            var pairs = try RowPairs(
                RowCursor(first.generation, key: key, pageRows: options.pageEventsMax),
                RowCursor(second.generation, key: key, pageRows: options.pageEventsMax))
            while let pair = try pairs.next() {
                if try pair.isReal, try !body(pair) { break }
            }
        }
        return (first.note, second.note)
    }
}

/// Walks the rows of two generations side by side, in the order of their keys' bytes: keys that differ in bytes are different rows, even if
/// they look alike.
struct RowPairs {
    private var left, right: RowCursor
    /// The next row of each; nil at its end.
    private var a, b: ReadModelRow?

    init(_ left: RowCursor, _ right: RowCursor) throws(EvstoreError) {
        (self.left, self.right) = (left, right)
        a = try self.left.next()
        b = try self.right.next()
    }

    /// The next key with its rows, whether or not they differ.
    mutating func next() throws(EvstoreError) -> RowDifference? {
        switch (a, b) {
        case (let row?, let other) where other.map({ row.precedes($0) }) ?? true:
            a = try left.next()
            return RowDifference(key: row.key, a: row.value, b: nil)
        case (let other, let row?) where other.map({ row.precedes($0) }) ?? true:
            b = try right.next()
            return RowDifference(key: row.key, a: nil, b: row.value)
        case (let first?, let second?):
            a = try left.next()
            b = try right.next()
            return RowDifference(key: first.key, a: first.value, b: second.value)
        default: return nil
        }
    }
}

/// Walks the rows of a generation with one transaction per page, or gives the one row of a key.
struct RowCursor {
    private let generation: Generation
    private let key: String?
    private let backwards: Bool
    private let pageRows: Int
    /// The range that has not been read yet.
    private var range: KeyRange
    private var page: ArraySlice<(key: [UInt8], value: [UInt8])> = []
    private var ended: Bool

    init(_ generation: Generation, key: String? = nil, _ range: KeyRange = .all, backwards: Bool = false, pageRows: Int) {
        (self.generation, self.key, self.range, self.backwards, self.pageRows) = (generation, key, range, backwards, pageRows)
        // No row has an empty key or one that is too long.
        ended = !(1 ... KeyRange.keyBytesMax).contains(key?.utf8.count ?? 1)
    }

    mutating func next() throws(EvstoreError) -> ReadModelRow? {
        if let key {
            if ended { return nil }
            ended = true
            return try generation.get(key).map { ReadModelRow(key: key, value: $0) }
        }
        if page.isEmpty, !ended {
            page = try generation.page(range, backwards: backwards, limit: pageRows)[...]
            ended = page.count < pageRows
            if let last = page.last { range.leave(last.key, backwards: backwards) }
        }
        return page.popFirst().map { ReadModelRow(key: String(decoding: $0.key, as: UTF8.self), value: $0.value) }
    }
}
