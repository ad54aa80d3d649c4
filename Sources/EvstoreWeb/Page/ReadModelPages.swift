internal import Bytes
internal import EventModel
internal import Evstore
internal import JSONText

extension Page {
    static let rowsOnPage = 50

    /// Lists the read models that are built, of each version up to the head.
    func readModels() throws -> Markup {
        let versions = try store.versions
        let tables = try Self.shown(from: SchemaVersion(1), versions).reversed().map { version -> Markup? in
            let models = try store.projections(at: version)
            if models.allSatisfy({ $0.checkpoint == nil }), version != versions.live { return nil }
            return table(of: models, caption: "At \(version)" + (version == versions.live ? ", which is live" : ""))
        }
        return "<h1>Read models</h1>\(tables.compactMap(\.self))"
    }

    func notBuilt(_ model: String, at version: SchemaVersion) -> PageNotFound {
        PageNotFound(what: "\(model) is not built at \(version); the page builds nothing: evstore query \(model) --at \(version)")
    }

    func versions(of model: String, current: SchemaVersion) throws -> Markup {
        let there = try Self.shown(from: SchemaVersion(1), store.versions).filter { version in
            try store.projections(at: version).contains { $0.name == model && $0.checkpoint != nil }
        }
        let links = there.map { version in
            Markup.item("?at=\(version)", "\(version)", isCurrent: version == current)
        }
        let others = there.filter { $0 != current }.map { other in
            let link = PageRequest.link("read-models", model, "diff", query: ["a": other.description, "b": current.description])
            return Markup.item(link, "differences from \(other)")
        }
        return "<ul class=\"versions-list\">\(links)\(others)</ul>"
    }

    // MARK: Rows

    /// Lists rows as they are now: by an index where one is named, else by key: from the first, with a prefix, or behind a key.
    func rows(of model: String, _ request: PageRequest) throws -> Markup {
        let version = try self.version(request)
        let indexes = try store.indexes(of: model, at: version)
        if let name = request.query["index"] {
            guard let index = indexes.first(where: { $0.name == name }) else {
                throw PageNotFound(what: "\(model) at \(version) has no index \(quoted(name))")
            }
            return try rows(of: model, at: version, by: index, among: indexes, request)
        }
        let (prefix, after) = (request.query["prefix"], request.query["after"])
        guard let page = try store.builtRows(of: model, at: version, prefix: prefix, after: after, limit: Self.rowsOnPage) else {
            throw notBuilt(model, at: version)
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
            \(orders(of: model, at: version, indexes))
            <form class="filters" aria-label="Rows"><input type="hidden" name="at" value="\(version)">
            <p><label for="prefix">Key begins with</label><input id="prefix" name="prefix" value="\(prefix ?? "")"></p>
            <p><button>Show</button></p></form>
            \(table(of: page.rows, of: model, at: version, "Rows by key"))
            \(next.map { "<p><a href=\"\($0)\" rel=\"next\">Next rows</a></p>" as Markup })
            \(note(page.note))
            """
    }

    func table(of rows: [ReadModelRow], of model: String, at version: SchemaVersion, _ caption: String) -> Markup {
        let rows = rows.map { row -> [Markup] in
            let link = PageRequest.link("read-models", model, "rows", row.key, query: ["at": version.description])
            let text = String(decoding: row.value.prefix(240), as: UTF8.self) + (row.value.count > 240 ? " …" : "")
            return [.link(link, row.key), "<code>\(text)</code>"]
        }
        return .table(caption, ["Key", "Row"], rows, empty: "No rows here.")
    }

    func note(_ note: QueryNote) -> Markup {
        "<p><small>\(note.version): as of position \(note.checkpoint.position.rawValue), \(note.lag) behind the log's end.</small></p>"
    }

    /// Shows one row as it is now, and the events that touched it, the newest first, each with the row after it.
    func row(_ key: String, of model: String, _ request: PageRequest) throws -> Markup {
        let version = try self.version(request)
        guard let found = try store.builtRow(of: model, at: version, key: key) else { throw notBuilt(model, at: version) }
        let title = Markup.link(PageRequest.link("read-models", model, query: ["at": version.description]), model)
        return """
            <h1>\(Markup.name(key)) in \(title) at \(version)</h1>
            \(found.row.map { .json($0.value, label: "row") } ?? "<p>There is no row of this key.</p>" as Markup)
            \(note(found.note))
            <section><h2>Events that touch it</h2>\(try history(of: key, model, version, request))</section>
            """
    }

    private func history(of key: String, _ model: String, _ version: SchemaVersion, _ request: PageRequest) throws -> Markup {
        let history: RowHistory
        do throws(EvstoreError) {
            let before = try request.position("before")
            history = try store.events(
                touching: key, of: model, at: version, before: before, limit: Self.rowsOnPage, examining: Self.eventsExamined)
        } catch {
            // Only a program that has a Swift read model can fold it.
            guard case .programNeeded = error else { throw error }
            return .failure(error)
        }
        let rows = history.steps.map { step -> [Markup] in
            [.event(step.position, at: version), .name(step.type), history.isWhole ? after(step) : ""]
        }
        let why: Markup? =
            history.isWhole || rows.isEmpty
            ? nil : "<p>What each made of the row is shown where all events before it were looked at, \(Self.eventsExamined) at most.</p>"
        let further = history.rest.map { rest in
            let link = PageRequest.link(
                "read-models", model, "rows", key, query: ["at": version.description, "before": String(rest.rawValue)])
            return "<p>Looked back to position \(rest.rawValue). <a href=\"\(link)\">Look further back</a></p>" as Markup
        }
        let table = Markup.table(
            "Newest first", ["Position", "Type as stored", "The row after it"], rows, empty: "None of the events that were looked at.")
        return "\(table)\(why)\(further)"
    }

    // MARK: Differences

    /// Lists rows that differ between two versions, by key, behind a key; compares a limited number of rows for one page.
    func differences(of model: String, _ request: PageRequest) throws -> Markup {
        let (a, b) = (try version(request, "a"), try version(request, "b"))
        let after = request.query["after"]
        let found = try store.builtDifferences(
            of: model, a: a, b: b, after: after, limit: Self.rowsOnPage, comparing: Self.eventsExamined)
        guard let found else {
            throw PageNotFound(what: "\(model) is not built at both \(a) and \(b): evstore query \(model) --at VERSION builds it")
        }
        let rows = found.differences.lazy.map { difference -> [Markup] in
            let texts = (a: difference.a.map { JSONLines(onPage: $0) }, b: difference.b.map { JSONLines(onPage: $0) })
            let marked = texts.a.flatMap { left in texts.b.flatMap { right in JSONLines.differing(left, right) } }
            return [
                .name(difference.key), texts.a.map { .json($0, label: "at \(a)", marked: marked?.a ?? []) } ?? "no row",
                texts.b.map { .json($0, label: "at \(b)", marked: marked?.b ?? []) } ?? "no row",
                PageBudget.compares((difference.a?.count ?? 0) + (difference.b?.count ?? 0))
                    ? "\(difference.changedMembers)" : "not compared: the page has compared enough",
            ]
        }
        let next = found.next.map { key in
            PageRequest.link("read-models", model, "diff", query: ["a": a.description, "b": b.description, "after": key])
        }
        let apart: Markup? =
            found.a.checkpoint == found.b.checkpoint
            ? nil : "<p class=\"bad\">They are not at the same position: some of what differs may be what one has yet to take in.</p>"
        return """
            <h1>\(Markup.name(model)): \(a) beside \(b)</h1>\(apart)
            \(Markup.table("Rows that differ", ["Key", a.description, b.description, "Members that changed"], rows, empty: "None of these rows differ."))
            <p>\(found.compared) rows compared.\(next.map { " <a href=\"\($0)\" rel=\"next\">Go on</a>" as Markup })</p>
            \(note(found.a))\(note(found.b))
            """
    }
}

extension RowDifference {
    fileprivate var changedMembers: [Markup] {
        let (left, right) = (Self.members(of: a), Self.members(of: b))
        let names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
        return names.sorted().map { "<mark>\(Markup.name($0.text))</mark> " }
    }

    /// The members by their names, with values of which those that mean the same are equal.
    private static func members(of row: [UInt8]?) -> [Name: JSONValue] {
        guard let row else { return [:] }
        do {
            guard case .object(let members) = try JSONValue(parsing: row.lent) else { return [:] }
            return Dictionary(members.map { (Name($0.name), $0.value.normal) }) { $1 }
        } catch { return [:] }
    }
}

/// The rows of a read model in the order of an index.
extension Page {
    typealias Index = (name: String, members: [String])

    /// The available orders of the rows, as links: by key and by each index. Nil where the projection declares no index.
    func orders(of model: String, at version: SchemaVersion, _ indexes: [Index], current: String? = nil) -> Markup? {
        if indexes.isEmpty { return nil }
        func item(_ name: String?, _ words: Markup) -> Markup {
            let link = PageRequest.link("read-models", model, query: ["at": version.description, "index": name])
            return .item(link, words, isCurrent: name == current)
        }
        let items = indexes.map { item($0.name, "by index \(Markup.name($0.name)): \(Markup.name($0.members.joined(separator: ", ")))") }
        return "<nav aria-label=\"Orders of the rows\"><ul class=\"versions-list\">\(item(nil, "by key"))\(items)</ul></nav>"
    }

    /// Lists rows as they are now by an index: those with some values in its first members, and between two values of the next one.
    func rows(
        of model: String, at version: SchemaVersion, by index: Index, among indexes: [Index], _ request: PageRequest
    ) throws -> Markup {
        let asked = try IndexRequest(request, index)
        let page = try store.builtRows(
            of: model, at: version, index: index.name, equals: asked.equals.map(IndexValue.init(argument:)),
            from: asked.from.map(IndexValue.init(argument:)), to: asked.to.map(IndexValue.init(argument:)), backwards: asked.isBackwards,
            after: asked.cursor, limit: Self.rowsOnPage)
        guard let page else { throw notBuilt(model, at: version) }
        let next = page.next.map { cursor in
            let fields = asked.fields(index.name, version) + [("after", cursor.description)]
            return "<p><a href=\"\(PageRequest.link(["read-models", model], fields))\" rel=\"next\">Next rows</a></p>" as Markup
        }
        return """
            <h1>\(Markup.name(model)) at \(version)</h1>
            \(try versions(of: model, current: version))
            \(orders(of: model, at: version, indexes, current: index.name))
            \(form(of: index, at: version, asked))
            \(table(of: page.rows, of: model, at: version, "Rows by the index \(index.name)" + (asked.isBackwards ? ", backwards" : "")))
            \(next)
            \(note(page.note))
            """
    }

    private func form(of index: Index, at version: SchemaVersion, _ asked: IndexRequest) -> Markup {
        let members = index.members.enumerated().map { number, member in
            let (name, value) = (IndexRequest.field(number), number < asked.equals.count ? asked.equals[number] : "")
            return """
                <p><label for="\(name)">\(Markup.name(member)) is</label><input id="\(name)" name="\(name)" value="\(value)"></p>
                """ as Markup
        }
        let isChecked: Markup? = asked.isBackwards ? " checked" : nil
        return """
            <form class="filters" aria-label="Rows"><input type="hidden" name="at" value="\(version)"><input type="hidden" name="index" value="\(index.name)">
            \(members)
            <p><label for="from">The next member from</label><input id="from" name="from" value="\(asked.from ?? "")"></p>
            <p><label for="to">and before</label><input id="to" name="to" value="\(asked.to ?? "")"></p>
            <p><label for="backwards">The last row first</label><input type="checkbox" id="backwards" name="backwards" value="yes"\(isChecked)></p>
            <p><button>Show</button></p></form>
            <p><small>A value is JSON where it is some, else a text: 42 is a number, "42" and paid are texts, null is what rows without the
            member have. The next member is the one behind those that have a value here.</small></p>
            """
    }
}

private struct IndexRequest {
    /// The values of the first members, as they were entered.
    var equals: [String] = []
    let from, to: String?
    let isBackwards: Bool
    let cursor: QueryCursor?

    static func field(_ number: Int) -> String { "is\(number + 1)" }

    init(_ request: PageRequest, _ index: Page.Index) throws(EvstoreError) {
        let query = request.query
        (from, to, isBackwards) = (query["from"], query["to"], query["backwards"] != nil)
        for (number, member) in index.members.enumerated() {
            guard let value = query[Self.field(number)] else { continue }
            guard number == equals.count else {
                throw .usage("rows of a value in \(member) are found where the members before it have one", fix: "give those, too")
            }
            equals.append(value)
        }
        guard let text = query["after"] else {
            cursor = nil
            return
        }
        guard let place = QueryCursor(text) else { throw .usage("\(quoted(text)) is no cursor") }
        cursor = place
    }

    /// The form's fields that lead to this list.
    func fields(_ index: String, _ version: SchemaVersion) -> [(String, String?)] {
        [("at", version.description), ("index", index)] + equals.enumerated().map { (Self.field($0), $1) }
            + [("from", from), ("to", to), ("backwards", isBackwards ? "yes" : nil)]
    }
}
