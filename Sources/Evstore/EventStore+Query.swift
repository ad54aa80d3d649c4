internal import EventLog
internal import EventModel
internal import Projections

extension EventStore {
    /// Gives rows of a read model to `body` in key order until it returns false, after catching up with the log's end as of now.
    ///
    /// `key` asks for one row (an unknown key is none), `prefix` for those whose key begins so. A read model that was never
    /// built is built first.
    @discardableResult
    public func query(
        _ projection: String, at version: SchemaVersion? = nil, key: String? = nil, prefix: String? = nil,
        _ body: (ReadModelRow) throws -> Bool
    ) async throws(EvstoreError) -> QueryNote {
        let model = try await readModel(projection, at: version)
        // No row has such a key.
        guard (1 ... rowKeyBytesMax).contains(key?.utf8.count ?? 1), prefix?.utf8.count ?? 0 <= rowKeyBytesMax else { return model.note }
        if let key {
            if let value = try model.generation.get(key) { _ = try converting(at: path) { try body(ReadModelRow(key: key, value: value)) } }
            return model.note
        }
        var rows = RowCursor(model.generation, prefix: prefix, pageRows: options.pageEventsMax)
        while let row = try rows.next() {
            if try !converting(at: path, { try body(row) }) { break }
        }
        return model.note
    }

    /// The number of rows, without reading them where neither key nor prefix is given.
    public func count(
        _ projection: String, at version: SchemaVersion? = nil, key: String? = nil, prefix: String? = nil
    ) async throws(EvstoreError) -> (rows: UInt64, note: QueryNote) {
        if key != nil || prefix != nil {
            var count: UInt64 = 0
            let note = try await query(projection, at: version, key: key, prefix: prefix) { _ in
                count += 1
                return true
            }
            return (count, note)
        }
        let model = try await readModel(projection, at: version)
        return (try model.generation.header.rows, model.note)
    }

    /// Gives the keys whose rows differ between two versions to `body` in key order until it returns false.
    @discardableResult
    public func diff(
        _ projection: String, a: SchemaVersion, b: SchemaVersion, key: String? = nil, _ body: (RowDifference) throws -> Bool
    ) async throws(EvstoreError) -> (a: QueryNote, b: QueryNote) {
        let end = try last().position
        let first = try await readModel(projection, at: a, to: end)
        let second = try await readModel(projection, at: b, to: end)
        guard (1 ... rowKeyBytesMax).contains(key?.utf8.count ?? 1) else { return (first.note, second.note) }
        if let key {
            let difference = RowDifference(key: key, a: try first.generation.get(key), b: try second.generation.get(key))
            if try difference.isReal { _ = try converting(at: path) { try body(difference) } }
            return (first.note, second.note)
        }
        var left = RowCursor(first.generation, pageRows: options.pageEventsMax)
        var right = RowCursor(second.generation, pageRows: options.pageEventsMax)
        var (rowA, rowB) = (try left.next(), try right.next())
        while rowA != nil || rowB != nil {
            let difference: RowDifference
            switch (rowA, rowB) {
            case (let a?, let b?) where a.key == b.key:
                difference = RowDifference(key: a.key, a: a.value, b: b.value)
                (rowA, rowB) = (try left.next(), try right.next())
            case (let a?, let b) where b.map({ a.precedes($0) }) ?? true:
                difference = RowDifference(key: a.key, a: a.value, b: nil)
                rowA = try left.next()
            case (_, let b?):
                difference = RowDifference(key: b.key, a: nil, b: b.value)
                rowB = try right.next()
            default: return (first.note, second.note)
            }
            if try difference.isReal, try !converting(at: path, { try body(difference) }) { break }
        }
        return (first.note, second.note)
    }
}

/// What LMDB takes as a key.
private let rowKeyBytesMax = 511

/// Walks the rows of a generation in key order, a page in a transaction.
private struct RowCursor {
    private let generation: Generation
    private let prefix: [UInt8]
    private let pageRows: Int
    private var page: ArraySlice<(key: [UInt8], value: [UInt8])> = []
    private var last: [UInt8]?
    private var ended = false

    init(_ generation: Generation, prefix: String? = nil, pageRows: Int) {
        (self.generation, self.pageRows) = (generation, pageRows)
        self.prefix = Array((prefix ?? "").utf8)
    }

    mutating func next() throws(EvstoreError) -> ReadModelRow? {
        if page.isEmpty, !ended {
            page = try generation.page(prefix: prefix, after: last, limit: pageRows)[...]
            ended = page.count < pageRows
            last = page.last?.key
        }
        return page.popFirst().map { ReadModelRow(key: String(decoding: $0.key, as: UTF8.self), value: $0.value) }
    }
}
