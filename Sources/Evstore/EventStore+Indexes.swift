internal import EventModel
internal import Platform
internal import Projections

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
