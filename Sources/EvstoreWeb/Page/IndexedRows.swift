internal import EventModel
internal import Evstore

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

/// The parameters in the form of an index.
private struct IndexRequest {
    /// The values of the first members, as they were entered.
    var equals: [String] = []
    let from, to: String?
    let isBackwards: Bool
    let cursor: QueryCursor?

    /// The name of the field for a member's value.
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
