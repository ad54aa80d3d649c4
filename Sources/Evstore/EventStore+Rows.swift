internal import Bytes
internal import EventModel
internal import Platform
internal import Projections

/// A place in the rows of a read model, from which a later page continues, in this process or in another.
///
/// Its text is opaque and safe in a link or a file. Rows that are added or removed meanwhile change which rows follow it; they never make
/// it invalid.
public struct QueryCursor: Hashable, Sendable, Codable, LosslessStringConvertible {
    private enum Place: Hashable {
        /// The last row that was given.
        case key(String)
        /// The last row's entry in an index.
        case entry([UInt8])
    }

    private let place: Place

    /// Makes the place behind the row with this key.
    public init(after key: String) { place = .key(key) }

    /// Makes the place behind an entry of an index.
    init(entry: [UInt8]) { place = .entry(entry) }

    /// Parses a cursor; nil where the text is none.
    public init?(_ description: String) {
        let rest = String(description.dropFirst())
        if rest.isEmpty { return nil }
        switch description.prefix(1) {
        case Self.byKey: place = .key(rest)
        case Self.byKeyBytes:
            guard let key = bytes(hex: rest).flatMap({ String(utf8: $0.lent) }) else { return nil }
            place = .key(key)
        case Self.byEntry:
            guard let entry = bytes(hex: rest) else { return nil }
            place = .entry(entry)
        default: return nil
        }
    }

    public var description: String {
        switch place {
        // What shows the text to a person may escape control characters, which would then be another key.
        case .key(let key) where key.unicodeScalars.contains(where: \.isTerminalControl): Self.byKeyBytes + hex(Array(key.utf8))
        case .key(let key): Self.byKey + key
        case .entry(let entry): Self.byEntry + hex(entry)
        }
    }

    /// Whether it is a place in the order of an index, and not in the order of keys.
    package var isOfIndex: Bool { if case .entry = place { true } else { false } }

    func leave(_ range: inout KeyRange, backwards: Bool) throws(EvstoreError) {
        guard case .key(let key) = place else { throw .usage("the cursor is one of an index: name the index") }
        range.leave(Array(key.utf8), backwards: backwards)
    }

    /// Returns false where the cursor does not belong to the range's index.
    func leave(_ range: inout IndexRange) -> Bool {
        guard case .entry(let entry) = place else { return false }
        return range.leave(entry)
    }

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

    /// The first character of a cursor's text: by the rows' keys, or by an index (its entry in hexadecimal digits).
    private static let (byKey, byKeyBytes, byEntry) = ("k", "x", "i")
}

/// Some rows of a read model in order, as values.
public struct QueryPage<Row: Sendable>: Sendable {
    public var rows: [Row]
    /// Where the next page continues; nil where there are no more rows.
    public var next: QueryCursor?
    public var note: QueryNote
}

extension QueryPage: Equatable where Row: Equatable {}

extension EventStore {
    /// Returns the row of a key after the read model has caught up with the log's current end; nil where there is none. Waits and throws as
    /// the `query` with a body does, regardless of `Options.queriesMayLag`; the cost does not depend on the number of rows.
    public func query(_ projection: String, at version: SchemaVersion? = nil, key: String) async throws(EvstoreError) -> ReadModelRow? {
        try await row(projection, at: version, key: key)
    }

    /// Returns a row's value as a Swift type; nil where there is no row. Waits and throws as the other forms do.
    /// - Throws: `EvstoreError.invalidRow` where the type can't read the row.
    public func query<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, key: String
    ) async throws(EvstoreError) -> Value? {
        guard let row = try await query(projection, at: version, key: key) else { return nil }
        return try row.value(of: projection, as: type)
    }

    /// Returns at most `limit` rows of a read model in the order of their keys' bytes, from the first or after a cursor.
    ///
    /// Up to `Options.pageEventsMax` rows come from one transaction; in a larger page, rows that change meanwhile may appear in the old or
    /// the new state. Waits and throws as the `query` with a body does.
    /// - Parameters:
    ///   - projection: the name of a projection that the version has; otherwise `unknownProjection` is thrown.
    ///   - version: the version at which the read model is read, from the floor to the top, whatever is live; nil is the working version.
    ///   - prefix: asks for the rows whose keys begin with it.
    ///   - from: asks for the rows whose keys are equal to it or sort behind it.
    ///   - to: asks for the rows whose keys sort before it.
    ///   - backwards: whether the last row comes first.
    ///   - limit: the most rows of the page, at least 1; otherwise `misuse` is thrown.
    ///   - cursor: continues behind a row that was given before, in the direction of this query; nil begins with the first row. The cursor
    ///     of an index throws `usage`.
    public func query(
        _ projection: String, at version: SchemaVersion? = nil, prefix: String? = nil, from: String? = nil, to: String? = nil,
        backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<ReadModelRow> {
        guard limit > 0 else { throw .misuse("a page has a limit of at least one row") }
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag)
        var range = KeyRange(prefix: prefix, from: from, to: to)
        try cursor?.leave(&range, backwards: backwards)
        return try await StoreThreads.run { () throws(EvstoreError) in
            try model.page(range, backwards: backwards, limit: limit, pageRows: options.pageEventsMax)
        }
    }

    /// Returns rows in the order of their keys with their values as a Swift type; otherwise like the `query` before.
    /// - Throws: `EvstoreError.invalidRow` where the type can't read one of them.
    public func query<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, prefix: String? = nil, from: String? = nil,
        to: String? = nil, backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<TypedRow<Value>> {
        let page = try await query(
            projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit, after: cursor)
        return try page.typed(projection, as: type)
    }
}

extension ReadModel {
    /// At most `limit` rows of a range of keys, `pageRows` of them in one transaction.
    func page(_ range: KeyRange, backwards: Bool, limit: Int, pageRows: Int) throws(EvstoreError) -> QueryPage<ReadModelRow> {
        // One row more than the limit shows whether there are more.
        let count = min(limit == .max ? limit : limit + 1, pageRows)
        var (walk, rows) = (RowCursor(generation, range, backwards: backwards, pageRows: count), [ReadModelRow]())
        while let row = try walk.next() {
            if rows.count == limit {
                return QueryPage(rows: rows, next: rows.last.map { QueryCursor(after: $0.key) }, note: note)
            }
            rows.append(row)
        }
        return QueryPage(rows: rows, next: nil, note: note)
    }
}

extension QueryPage<ReadModelRow> {
    func typed<Value: Decodable & Sendable>(
        _ projection: String, as type: Value.Type
    ) throws(EvstoreError) -> QueryPage<TypedRow<Value>> {
        var typed: [TypedRow<Value>] = []
        typed.reserveCapacity(rows.count)
        for row in rows { typed.append(TypedRow(key: row.key, value: try row.value(of: projection, as: type))) }
        return QueryPage<TypedRow<Value>>(rows: typed, next: next, note: note)
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
    func value<Value: Decodable>(of projection: String, as type: Value.Type) throws(EvstoreError) -> Value {
        do { return try decode(type) } catch {
            let (place, reason) = (EventJSON.pointer(error), EventJSON.reason(error))
            throw .invalidRow(
                projection: projection, key: key, reason: place.isEmpty ? reason : "\(place): \(reason)", type: "\(type)")
        }
    }
}
