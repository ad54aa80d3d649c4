internal import Bytes
internal import EventLog
public import EventModel
internal import JSONText
internal import Platform
internal import Projections
internal import SchemaEvolution

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

    /// Counts the rows of a read model: the read model's header gives the number of all rows; the rows of a range are counted one by one.
    /// Waits and throws as `query` does.
    public func count(
        _ projection: String, at version: SchemaVersion? = nil, key: String? = nil, prefix: String? = nil, from: String? = nil,
        to: String? = nil
    ) async throws(EvstoreError) -> (rows: UInt64, note: QueryNote) {
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag, forRows: key != nil)
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
    /// Catches both read models up with the log's end as `query` does, then reads all rows of both on one of the store's threads. The two
    /// rows of a key are compared as of one position of the log. Where others append meanwhile, later keys may be compared as of a later
    /// position.
    /// - Throws: `EvstoreError`, as `query` does, but regardless of `Options.queriesMayLag`; ioFailure where one of the two can't be
    ///   brought as far as the other; or what `body` throws, unconverted.
    @discardableResult
    public func diff(
        _ projection: String, a: SchemaVersion, b: SchemaVersion, key: String? = nil, _ body: (RowDifference) throws -> Bool
    ) async throws -> (a: QueryNote, b: QueryNote) {
        let end = try last().position
        var (first, second) = (try await readModel(projection, at: a, to: end), try await readModel(projection, at: b, to: end))
        let range = key.map { KeyRange(from: $0, to: $0 + "\0") } ?? .all
        var pairs = RowPairs(first.generation, second.generation, range, pageRows: options.pageEventsMax)
        var (rest, deadline) = (pairs.rest, Instant.within(options.readModelDeadline))
        // Versions that share a read model show the same rows.
        while first.generation !== second.generation {
            let isDone = try await StoreThreads.run {
                while let pair = try pairs.next(atOnePosition: true) {
                    if try pair.isReal, try !body(pair) { return true }
                }
                return pairs.rest == nil
            }
            if isDone { break }
            if pairs.rest != rest { (rest, deadline) = (pairs.rest, .within(options.readModelDeadline)) }
            // Others have brought one of the two further meanwhile, or a cut has begun another epoch.
            let (left, right) = pairs.checkpoints
            let isBehind = left.position < right.position
            if isBehind || left.epoch != right.epoch { first = try await readModel(projection, at: a, to: right.position) }
            if !isBehind || left.epoch != right.epoch { second = try await readModel(projection, at: b, to: left.position) }
            pairs.read(first.generation, second.generation)
            let (behind, ahead) = isBehind ? (first.note, second.note) : (second.note, first.note)
            if behind.lag > 0 || .now >= deadline {
                throw EvstoreError.ioFailure(
                    doing: "comparing \(projection) at \(a) and \(b)",
                    reason: "\(behind.version) is \(counted(behind.lag, "event")) behind \(ahead.version): "
                        + (behind.reason ?? "both are brought on all the time; run it again"))
            }
        }
        return (first.note, second.note)
    }
}

/// Walks the rows of a generation with one transaction per page, or gives the one row of a key.
struct RowCursor {
    private let generation: Generation
    private let key: String?
    private let backwards: Bool
    private let pageRows: Int
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
        var rows = RowCursor(try await readModel(projection, at: version).generation, key: key, pageRows: 1)
        return try rows.next()
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
        let typed = try rows.map { row throws(EvstoreError) in TypedRow(key: row.key, value: try row.value(of: projection, as: type)) }
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
            let (place, reason) = (SwiftValues.pointer(error), SwiftValues.reason(error))
            throw .invalidRow(
                projection: projection, key: key, reason: place.isEmpty ? reason : "\(place): \(reason)", type: "\(type)")
        }
    }
}

extension EventStore {
    /// Returns at most `limit` rows of a read model in the order of an index: by the values of its members; rows with equal values by their
    /// keys.
    ///
    /// Rows without a member have `nil` there. The order of values is: nil, false, true, numbers, texts by their UTF-8, then lists and
    /// objects. Waits and throws as the other forms of `query` do. The cost of a page depends on its own rows only, not on the number of
    /// all rows. A store whose events are sealed keeps no index on the disk: there a page costs reading all rows.
    ///
    /// - Parameters:
    ///   - projection: the name of a projection that the version has; otherwise `unknownProjection` is thrown.
    ///   - version: the version at which the read model is read, from the floor to the top, whatever is live; nil is the working version.
    ///   - index: the index's name in `indexes` of the projection.
    ///   - values: the values of the index's first members, which all rows share.
    ///   - from: the lowest value of the next member.
    ///   - to: the value of that member before which the rows end.
    ///   - backwards: whether the last row comes first.
    ///   - limit: the most rows of the page, at least 1; otherwise `misuse` is thrown.
    ///   - cursor: the cursor of an earlier page: this query continues behind its rows, in its own direction. Rows whose values change
    ///     meanwhile move to another place.
    /// - Throws: `EvstoreError`: usage where the read model has no such index, there are more values than members, or the cursor does not
    ///   belong to this index; misuse where the limit is below 1; and all that the other forms throw.
    public func query(
        _ projection: String, at version: SchemaVersion? = nil, index: String, equals values: [IndexValue] = [], from: IndexValue? = nil,
        to: IndexValue? = nil, backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<ReadModelRow> {
        guard limit > 0 else { throw .misuse("a page has a limit of at least one row") }
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag)
        var range = try model.range(projection, index, values, from: from, to: to, backwards: backwards)
        if let cursor, !cursor.leave(&range) { throw .usage("the cursor is none of the index \(index)") }
        return try await StoreThreads.run { () throws(EvstoreError) in
            try model.page(&range, backwards: backwards, limit: limit, pageRows: options.pageEventsMax)
        }
    }

    /// Queries by an index with the values of the rows as a Swift type.
    /// - Throws: `EvstoreError.invalidRow` where the type can't read one of them.
    public func query<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, index: String, equals values: [IndexValue] = [],
        from: IndexValue? = nil, to: IndexValue? = nil, backwards: Bool = false, limit: Int = 1_000, after cursor: QueryCursor? = nil
    ) async throws(EvstoreError) -> QueryPage<TypedRow<Value>> {
        let page = try await query(
            projection, at: version, index: index, equals: values, from: from, to: to, backwards: backwards, limit: limit, after: cursor)
        return try page.typed(projection, as: type)
    }

    /// Counts the rows in a range of an index; reads entries of the index, and no rows. Waits and throws as `query` does.
    public func count(
        _ projection: String, at version: SchemaVersion? = nil, index: String, equals values: [IndexValue] = [], from: IndexValue? = nil,
        to: IndexValue? = nil
    ) async throws(EvstoreError) -> (rows: UInt64, note: QueryNote) {
        let model = try await readModel(projection, at: version, mayLag: options.queriesMayLag)
        let range = try model.range(projection, index, values, from: from, to: to)
        let count = try await StoreThreads.run { () throws(EvstoreError) in try model.generation.count(range, model.indexes) }
        return (count, model.note)
    }
}

extension ReadModel {
    /// At most `limit` rows of a range, `pageRows` of them in one read.
    func page(
        _ range: inout IndexRange, backwards: Bool, limit: Int, pageRows: Int
    ) throws(EvstoreError) -> QueryPage<ReadModelRow> {
        // One row more than the limit shows whether there are more.
        let count = min(limit == .max ? limit : limit + 1, pageRows)
        var (rows, last): ([ReadModelRow], [UInt8]?) = ([], nil)
        while true {
            let page = try generation.page(range, indexes, backwards: backwards, limit: count)
            for row in page {
                if rows.count == limit { return QueryPage(rows: rows, next: last.map { QueryCursor(entry: $0) }, note: note) }
                rows.append(ReadModelRow(key: String(decoding: row.key, as: UTF8.self), value: row.value))
                last = row.entry
            }
            guard page.count == count, let last, range.leave(last) else { return QueryPage(rows: rows, next: nil, note: note) }
        }
    }

    func range(
        _ projection: String, _ index: String, _ values: [IndexValue], from: IndexValue?, to: IndexValue?, backwards: Bool = false
    ) throws(EvstoreError) -> IndexRange {
        guard let number = indexes.number(of: index) else {
            let names = indexes.list.map(\.name)
            let known = names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"
            throw .usage(
                "\(projection) at \(note.version) has no index \(quoted(index)): \(known)",
                fix: "an index that was declared since is there after a replay to \(note.version) with the projection files")
        }
        let members = indexes.list[number].members.count
        let asked = values.count + (from == nil && to == nil ? 0 : 1)
        if asked > members {
            throw .usage("the index \(index) of \(projection) has \(counted(members, "member")), and \(asked) were asked for")
        }
        return IndexRange(indexes, number: number, equal: values.map(\.json), from: from?.json, to: to?.json, backwards: backwards)
    }
}

/// A value by which an index is searched: a JSON value, written as a literal or made from a Swift value.
///
///     try await store.query("orders", index: "by-total", equals: ["paid"], from: 100, to: 200)
public struct IndexValue: Hashable, Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    /// JSON text in UTF-8 without spaces around it.
    let json: [UInt8]

    public init(_ text: String) { json = Array(JSONValue.string(text).text.utf8) }
    public init(_ number: Int) { json = Array(String(number).utf8) }
    /// Written as members of the type are: moments are compared as texts.
    public init(_ time: Timestamp) { self.init(time.description) }
    public init(_ flag: Bool) { json = Array((flag ? "true" : "false").utf8) }
    public init(stringLiteral text: String) { self.init(text) }
    public init(integerLiteral number: Int) { self.init(number) }
    public init(booleanLiteral flag: Bool) { self.init(flag) }
    /// The value that rows without the member have, too.
    public init(nilLiteral: ()) { json = Array("null".utf8) }

    /// Parses any JSON text, such as a number with a fraction: `19.90`; nil where it is not JSON.
    public init?(json text: String) {
        let value: JSONValue
        do { value = try JSONValue(parsing: Array(text.utf8).lent) } catch { return nil }
        // Numbers keep their digits.
        json = Array(value.text.utf8)
    }

    /// Parses what a person writes: JSON where the text is JSON, else a string.
    package init(argument: String) { self = IndexValue(json: argument) ?? IndexValue(argument) }
}
