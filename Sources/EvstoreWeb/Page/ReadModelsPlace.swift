internal import Bytes
internal import EventModel
internal import Evstore
internal import JSONText

extension Page {
    private static let rowsOnPage = 50

    /// The read models of every version of the window that are built.
    func readModels() throws -> Markup {
        let versions = try store.versions
        let tables = try (1 ... max(versions.head, versions.top).rawValue).reversed().map { number -> Markup? in
            let version = SchemaVersion(number)
            let models = try store.projections(at: version)
            if models.allSatisfy({ $0.checkpoint == nil }), version != versions.live { return nil }
            return table(of: models, caption: "At \(version)" + (version == versions.live ? ", which is live" : ""))
        }
        return "<h1>Read models</h1>\(tables.compactMap(\.self))"
    }

    /// A version at which the read model is built: asking elsewhere would build it.
    private func built(_ model: String, _ request: PageRequest, field: String = "at") throws -> SchemaVersion {
        let version =
            try request.query[field].map { text throws(EvstoreError) in try store.version(named: text) } ?? store.versions.live
        let models = try store.projections(at: version)
        guard let found = models.first(where: { $0.name == model }) else {
            throw EvstoreError.unknownProjection(model, known: models.map(\.name))
        }
        if found.checkpoint == nil {
            throw NotThere(what: "\(model) is not built at \(version); the page builds nothing: evstore query \(model) --at \(version)")
        }
        return version
    }

    /// Versions at which it is built, as links.
    private func versions(of model: String, current: SchemaVersion) throws -> Markup {
        let range = try (1 ... max(store.versions.head, store.versions.top).rawValue).map { SchemaVersion($0) }
        let there = try range.filter { version in
            try store.projections(at: version).contains { $0.name == model && $0.checkpoint != nil }
        }
        let links = there.map { version in
            let isCurrent: Markup? = version == current ? " aria-current=\"true\"" : nil
            return "<li><a href=\"?at=\(version)\"\(isCurrent)>\(version)</a></li>" as Markup
        }
        let others = there.filter { $0 != current }.map { other in
            let link = PageRequest.link("read-models", model, "diff", query: ["a": other.description, "b": current.description])
            return "<li><a href=\"\(link)\">differences from \(other)</a></li>" as Markup
        }
        return "<ul class=\"versions-list\">\(links)\(others)</ul>"
    }

    // MARK: Rows

    /// Rows by key: from the first, of a prefix, or on from a cursor.
    func rows(of model: String, _ request: PageRequest) async throws -> Markup {
        let version = try built(model, request)
        let prefix = request.query["prefix"]
        let cursor = request.query["after"].map { QueryCursor(after: $0) }
        let page = try await store.query(model, at: version, prefix: prefix, limit: Self.rowsOnPage, after: cursor)
        let rows = page.rows.map { row -> [Markup] in
            let link = PageRequest.link("read-models", model, "rows", row.key, query: ["at": version.description])
            return [.link(link, row.key), "<code>\(Self.short(row.value))</code>"]
        }
        let next =
            page.next == nil
            ? nil
            : page.rows.last.map { last in
                PageRequest.link("read-models", model, query: ["at": version.description, "prefix": prefix, "after": last.key])
            }
        return """
            <h1>\(Markup.name(model)) at \(version)</h1>
            \(try versions(of: model, current: version))
            <form class="filters" aria-label="Rows"><input type="hidden" name="at" value="\(version)">
            <p><label for="prefix">Key begins with</label><input id="prefix" name="prefix" value="\(prefix ?? "")"></p>
            <p><button>Show</button></p></form>
            \(Markup.table("Rows by key", ["Key", "Row"], rows, empty: "No rows here."))
            \(next.map { "<p><a href=\"\($0)\" rel=\"next\">Next rows</a></p>" as Markup })
            \(note(page.note))
            """
    }

    private static func short(_ json: [UInt8]) -> String {
        String(decoding: json.prefix(240), as: UTF8.self) + (json.count > 240 ? " …" : "")
    }

    private func note(_ note: QueryNote) -> Markup {
        let reason: Markup? = note.reason.map { ", since \($0)" }
        return "<p><small>As of position \(note.checkpoint.position.rawValue), \(note.lag) behind the log's end\(reason).</small></p>"
    }

    /// One row, and the events that made it what it is, looked for from the newest on.
    func row(_ key: String, of model: String, _ request: PageRequest) async throws -> Markup {
        let version = try built(model, request)
        let row = try await store.query(model, at: version, key: key)
        let from = try request.position("before")
        let search = try store.events(touching: key, of: model, at: version, before: from, lookingAt: Self.eventsLookedAt)
        let events = search.events.map { event -> [Markup] in
            [.link("/events/\(event.position.rawValue)", grouped(event.position.rawValue)), .name(event.type)]
        }
        let further = search.rest.map { rest in
            let link = PageRequest.link(
                "read-models", model, "rows", key, query: ["at": version.description, "before": String(rest.rawValue)])
            return "<p>Looked back to position \(rest.rawValue). <a href=\"\(link)\">Look further back</a></p>" as Markup
        }
        return """
            <h1>\(Markup.name(key)) in \(Markup.link(PageRequest.link("read-models", model, query: ["at": version.description]), model)) at \(version)</h1>
            \(row.map { .json($0.value, label: "row") } ?? "<p>There is no row of this key.</p>" as Markup)
            <section><h2>Events that touch it</h2>
            \(Markup.table("Newest first", ["Position", "Type as stored"], events, empty: "None of the events that were looked at."))\(further)</section>
            """
    }

    // MARK: Differences

    /// Rows that differ between two versions, key by key, from a key on; so many rows of each are compared for a page.
    func differences(of model: String, _ request: PageRequest) async throws -> Markup {
        let (a, b) = (try built(model, request, field: "a"), try built(model, request, field: "b"))
        var compared = RowComparison(from: request.query["from"])
        while compared.differences.count < Self.rowsOnPage, compared.compared < Self.eventsLookedAt, !compared.isAtEnd {
            let from = compared.from
            let left = try await store.query(model, at: a, from: from, limit: 200)
            let right = try await store.query(model, at: b, from: from, limit: 200)
            compared.take(left, right)
        }
        let rows = compared.differences.map { difference -> [Markup] in
            [
                .name(difference.key), difference.a.map { .json($0, label: "at \(a)") } ?? "no row",
                difference.b.map { .json($0, label: "at \(b)") } ?? "no row", "\(difference.changedMembers)",
            ]
        }
        let next =
            compared.isAtEnd
            ? nil
            : compared.from.map { from in
                PageRequest.link("read-models", model, "diff", query: ["a": a.description, "b": b.description, "from": from])
            }
        return """
            <h1>\(Markup.name(model)): \(a) beside \(b)</h1>
            \(Markup.table("Rows that differ", ["Key", a.description, b.description, "Members that changed"], rows, empty: "None of these rows differ."))
            <p>\(compared.compared) rows compared.\(next.map { " <a href=\"\($0)\" rel=\"next\">Go on</a>" as Markup })</p>
            """
    }
}

/// A row as it is at two versions; nil where it is not there.
private struct ComparedRow {
    var key: String
    var a: [UInt8]?
    var b: [UInt8]?

    /// The names of the members that are not the same in both, marked.
    var changedMembers: [Markup] {
        let (left, right) = (Self.members(of: a), Self.members(of: b))
        let names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
        return names.sorted().map { "<mark>\(Markup.name($0))</mark> " }
    }

    private static func members(of row: [UInt8]?) -> [String: JSONValue] {
        guard let row else { return [:] }
        do {
            guard case .object(let members) = try JSONValue(parsing: row.lent) else { return [:] }
            return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
        } catch { return [:] }
    }
}

/// Two versions of a read model side by side, in key order, some rows at a time.
private struct RowComparison {
    private(set) var differences: [ComparedRow] = []
    private(set) var compared = 0
    /// Where the next rows begin; nil at the beginning.
    private(set) var from: String?
    private(set) var isAtEnd = false

    init(from: String?) { self.from = from }

    /// Takes the next rows of both, which begin at `from`: up to the key that both pages reach.
    mutating func take(_ left: QueryPage<ReadModelRow>, _ right: QueryPage<ReadModelRow>) {
        // Beyond the last row of a page that has more after it, nothing is known of its side.
        let ends = [left, right].compactMap { page in page.next == nil ? nil : page.rows.last?.key }
        let end = ends.min { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        func isKnown(_ row: ReadModelRow) -> Bool { end.map { !Array($0.utf8).lexicographicallyPrecedes(Array(row.key.utf8)) } ?? true }
        var rows: [String: ComparedRow] = [:]
        for row in left.rows where isKnown(row) { rows[row.key] = ComparedRow(key: row.key, a: row.value, b: nil) }
        for row in right.rows where isKnown(row) { rows[row.key, default: ComparedRow(key: row.key, a: nil, b: nil)].b = row.value }
        compared += rows.count
        differences += rows.values.filter { $0.a != $0.b }.sorted {
            Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8))
        }
        isAtEnd = end == nil
        // The key just behind, in the order of bytes.
        from = end.map { $0 + "\u{0}" }
    }
}
