internal import EventModel
package import Evstore
internal import EvstoreCluster
package import EvstoreService
internal import Foundation

/// A store's page in a browser: HTML made on the server. None of the pages reads the whole log.
///
/// Everything that comes from the store is text (`Markup`). Without `changes` nothing can be changed.
package struct Page: Sendable {
    let store: EventStore
    let backups: BackupLook?
    let changes: PageChanges?

    package init(_ store: EventStore, backups: BackupLook? = nil, changes: PageChanges? = nil) {
        (self.store, self.backups, self.changes) = (store, backups, changes)
    }

    /// Answers a request. Blocks the calling thread for short read transactions and a look at the backups, and waits for read models that it
    /// queries.
    package func answer(_ request: PageRequest) async -> PageAnswer {
        await PageBudget.$current.withValue(PageBudget()) { await answerWithin(request) }
    }

    private func answerWithin(_ request: PageRequest) async -> PageAnswer {
        do {
            if let form = request.form { return try await change(request.path, form) }
            return try await show(request)
        } catch {
            return page("That did not work", "<h1>That did not work</h1>\(Markup.failure(error))", status: status(of: error))
        }
    }

    private func status(of error: any Error) -> Int {
        switch error {
        case is PageNotFound, EvstoreError.unknownProjection, EvstoreError.unknownVersion, EvstoreError.unknownConsumer: 404
        case EvstoreError.usage, EvstoreError.invalidStreamName, EvstoreError.invalidEventID: 400
        case EvstoreError.noImage, EvstoreError.programNeeded, EvstoreError.consentNeeded, EvstoreError.belowFloor: 409
        default: 503
        }
    }

    private func show(_ request: PageRequest) async throws -> PageAnswer {
        let path = request.path
        switch (path.first, path.count) {
        case (nil, _): return page("Overview", try overview(), at: "/", refresh: try refreshSeconds())
        case ("find", 1): return try find(request)
        case ("events", 1): return page("Events", try events(request), at: "/events")
        case ("events", 2): return page("Event \(path[1])", try event(path[1], request), at: "/events")
        case ("streams", 2): return page("Stream \(path[1])", try stream(path[1], request), at: "/events")
        case ("read-models", 1): return page("Read models", try readModels(), at: "/read-models")
        case ("read-models", 2): return page("Read model \(path[1])", try rows(of: path[1], request), at: "/read-models")
        case ("read-models", 3) where path[2] == "diff":
            return page("Differences of \(path[1])", try differences(of: path[1], request), at: "/read-models")
        case ("read-models", 4) where path[2] == "rows":
            return page("Row \(path[3])", try row(path[3], of: path[1], request), at: "/read-models")
        case ("migration", 1): return page("Migration", try await migration(request), at: "/migration", refresh: try refreshSeconds())
        case ("consumers", 1): return page("Consumers", try consumers(), at: "/consumers")
        case ("quarantine", 1): return page("Quarantine", try quarantine(request), at: "/quarantine")
        case ("drills", 1): return page("Drills", try drills(), at: "/drills")
        case ("census", 1): return page("Census", try census(), at: "/census")
        case ("cluster", 1): return page("Cluster", try await cluster(), at: "/cluster")
        case ("storage", 1): return page("Storage", try storage(), at: "/storage")
        case ("page.css", 1): return PageAnswer(type: "text/css; charset=utf-8", body: PackageResources.page_css)
        case ("page.js", 1): return PageAnswer(type: "text/javascript; charset=utf-8", body: PackageResources.page_js)
        default: throw PageNotFound(what: "there is no such page")
        }
    }

    private func find(_ request: PageRequest) throws -> PageAnswer {
        guard let text = request.query["what"]?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return .moved(to: "/") }
        if let number = UInt64(text.filter { $0 != "," }) { return .moved(to: PageRequest.link("events", String(number))) }
        if let position = try position(ofID: text) { return .moved(to: PageRequest.link("events", String(position.rawValue))) }
        return .moved(to: PageRequest.link("streams", text))
    }

    /// The position of the event with an id; nil where the text is not an id, or no event has it.
    func position(ofID text: String) throws -> Position? {
        let id: EventID
        do { id = try EventID(text) } catch { return nil }
        return try store.position(of: id)
    }

    func version(_ request: PageRequest, _ field: String = "at") throws(EvstoreError) -> SchemaVersion {
        guard let text = request.query[field] else { return try store.versions.live }
        return try store.version(named: text)
    }

    /// The newest versions from `first` on, at most as many as a page can show.
    static func shown(from first: SchemaVersion, _ versions: StoreVersions) -> [SchemaVersion] {
        shown(from: first, through: max(versions.head, versions.top))
    }

    static func shown(from first: SchemaVersion, through last: SchemaVersion) -> [SchemaVersion] {
        first.through(last).suffix(versionsShown)
    }

    private static let versionsShown = 200

    // MARK: The frame of all pages

    private static let navigation = [
        ("/", "Overview"), ("/events", "Events"), ("/read-models", "Read models"), ("/migration", "Migration"), ("/consumers", "Consumers"),
        ("/quarantine", "Quarantine"), ("/drills", "Drills"), ("/census", "Census"), ("/storage", "Storage"),
    ]

    func page(_ title: String, _ body: Markup, at place: String = "", status: Int = 200, refresh: Int? = nil) -> PageAnswer {
        let own = store.clusterNode == nil ? [] : [("/cluster", "Cluster")]
        let links = (Self.navigation + own).map { path, name in
            let current: Markup? = path == place ? " aria-current=\"page\"" : nil
            return "<li><a href=\"\(path)\"\(current)>\(name)</a></li>" as Markup
        }
        let again = refresh.map { "<meta http-equiv=\"refresh\" content=\"\($0); url=\(place)\">" as Markup }
        let document: Markup = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">\(again)
            <title>\(title) – evstore</title><link rel="stylesheet" href="/page.css"><link rel="icon" href="data:,"></head>
            <body><a class="skip" href="#main">To the content</a>
            <header><p class="store">evstore <span>\(store.path)</span></p>
            <form action="/find" role="search"><label for="what">Find</label>
            <input id="what" name="what" placeholder="position, id or stream"><button>Go</button></form>
            <nav aria-label="Places"><ul>\(links)</ul></nav></header>
            <main id="main">\(body)</main><script src="/page.js" defer></script></body></html>

            """
        return PageAnswer(status: status, body: Array(document.text.utf8))
    }
}

struct PageNotFound: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
}

package struct PageRequest: Sendable {
    package var path: [String]
    package var query: [String: String]
    /// The fields of a submitted form; nil for a request that only reads.
    package var form: [String: String]?

    /// - Parameters:
    ///   - path: the path as it was requested, percent-encoded.
    ///   - query: the part after the question mark, in the format of HTML forms (application/x-www-form-urlencoded).
    package init(path: String, query: String = "", form: String? = nil) {
        self.path = path.split(separator: "/").map(Self.decoded)
        self.query = Self.fields(query)
        self.form = form.map(Self.fields)
    }

    package mutating func take(form text: String) { form = Self.fields(text) }

    private static func fields(_ text: String) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { half in
                let spaced = String(half.replacing("+", with: " "))
                return spaced.removingPercentEncoding ?? spaced
            }
            // An empty field counts as missing.
            if halves.count == 2, !halves[1].isEmpty { fields[halves[0]] = halves[1] }
        }
        return fields
    }

    /// A path of the page whose components may hold any text.
    static func link(_ parts: String..., query: KeyValuePairs<String, String?> = [:]) -> String { link(parts, query.map { ($0, $1) }) }

    static func link(_ parts: [String], _ query: [(String, String?)]) -> String {
        let path = "/" + parts.map(part).joined(separator: "/")
        let fields = query.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
        return fields.isEmpty ? path : path + "?" + fields.joined(separator: "&")
    }

    /// Encodes a component. Browsers take one or two dots as a way up even if encoded (URL Standard, 4.1), so such a component gets a
    /// slash.
    private static func part(_ text: String) -> String { encoded(isDots(text) ? text + "/" : text) }

    private static func decoded(_ part: Substring) -> String {
        let text = part.removingPercentEncoding ?? String(part)
        return text.hasSuffix("/") && isDots(String(text.dropLast())) ? String(text.dropLast()) : text
    }

    /// Whether a text is one or two dots with any number of slashes behind them.
    private static func isDots(_ text: String) -> Bool {
        let dots = text.prefix { $0 == "." }
        return (1 ... 2).contains(dots.count) && text.dropFirst(dots.count).allSatisfy { $0 == "/" }
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// The unreserved characters of RFC 3986, 2.3.
    private static let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    // MARK: Fields

    func position(_ name: String) throws(EvstoreError) -> Position? {
        guard let text = query[name] else { return nil }
        guard let number = UInt64(text.filter { $0 != "," }) else { throw .usage("\(quoted(text)) is no position") }
        return Position(number)
    }

    func revision(_ name: String) throws(EvstoreError) -> Revision? {
        guard let text = query[name] else { return nil }
        guard let number = UInt64(text) else { throw .usage("\(quoted(text)) is no revision") }
        return Revision(number)
    }
}

package struct PageAnswer: Sendable {
    package var status = 200
    package var type = "text/html; charset=utf-8"
    package var body: [UInt8] = []
    /// The address that the browser is redirected to.
    package var location: String?

    static func moved(to location: String) -> PageAnswer { PageAnswer(status: 303, location: location) }
}
