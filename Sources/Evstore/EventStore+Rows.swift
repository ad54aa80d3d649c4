internal import EventModel
internal import Projections

/// A place in the rows of a read model, from which a later page goes on, in this process or in another.
///
/// Its text is opaque and fit for a link or a file. Rows that come and go meanwhile change which rows follow it, and never make it
/// invalid.
public struct QueryCursor: Hashable, Sendable, Codable, LosslessStringConvertible {
    /// The last row that was given.
    let key: String

    /// The place behind a row with this key.
    public init(after key: String) { self.key = key }

    /// Nil where the text is no cursor.
    public init?(_ description: String) {
        guard description.hasPrefix(Self.byKey), description.utf8.count > 1 else { return nil }
        key = String(description.dropFirst())
    }

    public var description: String { Self.byKey + key }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let cursor = QueryCursor(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(quoted(text)) is no cursor")
        }
        self = cursor
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// How the text of one begins that goes by the rows' keys.
    private static let byKey = "k"
}

/// Some rows of a read model, in key order, as values of their own.
public struct QueryPage<Row: Sendable>: Sendable {
    public var rows: [Row]
    /// Where the next page goes on; nil where there was nothing more.
    public var next: QueryCursor?
    public var note: QueryNote
}

extension QueryPage: Equatable where Row: Equatable {}

extension EventStore {
    /// A row of a read model, which has caught up with the log's end as of now; nil where there is none. Awaits and throws as the `query`
    /// with a body does; finds the row by its key, whatever the number of rows.
    public func query(_ projection: String, at version: SchemaVersion? = nil, key: String) async throws(EvstoreError) -> ReadModelRow? {
        try await row(projection, at: version, key: key)
    }

    /// A row's value as a Swift type; nil where there is none. Awaits and throws as the other forms do.
    /// - Throws: `EvstoreError.invalidRow` where the type can't read the row.
    public func query<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, key: String, as type: Value.Type
    ) async throws(EvstoreError) -> Value? {
        guard let row = try await query(projection, at: version, key: key) else { return nil }
        return try row.value(of: projection, as: type)
    }

    /// At most `limit` rows of a read model in the order of their keys' bytes, from the first or after a cursor.
    ///
    /// Up to `Options.pageEventsMax` rows come from one transaction; beyond it, rows that change meanwhile may appear as they were or as
    /// they are. Awaits and throws as the `query` with a body does, whose `prefix`, `from` and `to` these are.
    /// - Parameter backwards: the last row first; a cursor goes on in the direction of the query that it is given to.
    public func query(
        _ projection: String, at version: SchemaVersion? = nil, prefix: String? = nil, from: String? = nil, to: String? = nil,
        backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<ReadModelRow> {
        guard limit > 0 else { throw .misuse("a page has a limit of at least one row") }
        let model = try await readModel(projection, at: version)
        var range = KeyRange(prefix: prefix, from: from, to: to)
        if let cursor { range.leave(Array(cursor.key.utf8), backwards: backwards) }
        // One more than is given tells whether there is more.
        let pageRows = min(limit == .max ? limit : limit + 1, options.pageEventsMax)
        var walk = RowCursor(model.generation, range, backwards: backwards, pageRows: pageRows)
        var rows: [ReadModelRow] = []
        while let row = try walk.next() {
            if rows.count == limit {
                return QueryPage(rows: rows, next: rows.last.map { QueryCursor(after: $0.key) }, note: model.note)
            }
            rows.append(row)
        }
        return QueryPage(rows: rows, next: nil, note: model.note)
    }

    /// The same with the values of the rows as a Swift type.
    /// - Throws: `EvstoreError.invalidRow` where the type can't read one of them.
    public func query<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, prefix: String? = nil, from: String? = nil,
        to: String? = nil, backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<TypedRow<Value>> {
        let page = try await query(
            projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit, after: cursor)
        var rows: [TypedRow<Value>] = []
        rows.reserveCapacity(page.rows.count)
        for row in page.rows { rows.append(TypedRow(key: row.key, value: try row.value(of: projection, as: type))) }
        return QueryPage(rows: rows, next: page.next, note: page.note)
    }
}

/// A row of a read model whose value is a Swift value.
public struct TypedRow<Value: Sendable>: Sendable {
    public var key: String
    public var value: Value

    public init(key: String, value: Value) { (self.key, self.value) = (key, value) }
}

extension TypedRow: Equatable where Value: Equatable {}

extension ReadModelRow {
    fileprivate func value<Value: Decodable>(of projection: String, as type: Value.Type) throws(EvstoreError) -> Value {
        do { return try decode(type) } catch {
            let place = EventJSON.pointer(error)
            throw .invalidRow(projection: projection, key: key, reason: "\(type) can't read \(place): \(EventJSON.reason(error))")
        }
    }
}
