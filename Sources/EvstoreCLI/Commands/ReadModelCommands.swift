internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import JSONText
internal import Migration

struct QueryCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Prints rows of a read model, in the order of their keys.",
        discussion: """
            The read model first catches up with the log; where it may not, standard error says how \
            far it lags, and always how many quarantined events it lacks. No such row is no line, a \
            note on standard error, and exit code 0. A row is {"key":…,"value":{…}}; as tab-separated values it is the key and \
            then a field for each pointer of --columns. Where --limit has left rows out, standard error says so, with the cursor that \
            --after takes to go on: the letter k and the last key, or what stands for it where \
            the key has control characters.

            With --index rows come in the order of an index that the projection declares, by the values of its members: --equals \
            gives those of the first ones, --from and --to bound the next. A value is JSON where it is some, else a text: 42 is a number, \
            "42" in its quotes and paid are texts, null is what rows without the member have.

            Example: evstore query orders 42
            Example: evstore query orders --from 2026-11 --to 2026-12 --backwards --limit 20
            Example: evstore query orders --index by-total --equals paid --from 100 --limit 20
            Example: evstore query orders --prefix 4 --format tsv --columns /state,/total
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The projection's name.") var projection: String
    @Argument(help: "One row's key.") var key: String?

    @Option(help: ArgumentHelp("Only rows whose key begins so.", valueName: "p")) var prefix: String?

    @Option(help: ArgumentHelp("Go by an index that the projection declares.", valueName: "name")) var index: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Only rows that have this value in the index's first member, the next in the second.", valueName: "value"))
    var equals: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only rows whose key is this one, or sorts behind it byte by byte; with --index, whose next value does.", valueName: "key"))
    var from: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only rows whose key sorts before this one; with --index, whose next value does.", valueName: "key"))
    var to: String?

    @Flag(help: "The last row first.") var backwards = false

    @Option(help: ArgumentHelp("How many rows at most.", valueName: "n")) var limit: Int?

    @Option(help: ArgumentHelp("Go on behind the row of a cursor, in the direction of this query.", valueName: "cursor"))
    var after: String?

    @Option(help: ArgumentHelp("The version of the read model; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Flag(help: "Print the number of rows instead.") var count = false

    @Option(help: "How a row is written: jsonl or tsv.") var format: RowFormat = .jsonl

    @Option(help: ArgumentHelp("The pointers whose values are the fields of a row, with commas between.", valueName: "/a,/b"))
    var columns: String?

    func validate() throws {
        if columns != nil && format != .tsv { throw ValidationError("--columns needs --format tsv") }
        let ways = [("--prefix", prefix), ("--from", from), ("--to", to), ("--after", after)]
        if key != nil, let way = ways.first(where: { $0.1 != nil }) { throw ValidationError("a KEY and a \(way.0) exclude each other") }
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1") }
        if count && (limit != nil || after != nil) { throw ValidationError("--count takes neither --limit nor --after") }
        if index == nil, !equals.isEmpty { throw ValidationError("--equals needs --index NAME") }
        if index != nil, key != nil || prefix != nil { throw ValidationError("--index excludes a KEY and --prefix") }
        if index == nil, let from, let to, !from.utf8.lexicographicallyPrecedes(to.utf8) {
            throw ValidationError("no key lies between --from \(quoted(from)) and --to \(quoted(to)), which it has to sort before")
        }
        if let after, QueryCursor(after) == nil {
            throw ValidationError("\(quoted(after)) is no cursor: it is the letter k and the key of the last row, or what a query has said")
        }
        if let after, let cursor = QueryCursor(after), cursor.isOfIndex != (index != nil) {
            throw ValidationError(index == nil ? "this cursor of --after needs --index NAME" : "this cursor of --after is none of an index")
        }
        if format == .tsv && global.json { throw ValidationError("--json and --format tsv exclude each other") }
        _ = try pointers()
    }

    func run(in session: Session) async throws {
        let pointers = try pointers()
        try await session.withStore(.writingIfAllowed) { store in
            let version = try store.version(ifNamed: at)
            if count { return try await printCount(store, version, session.output) }
            var rows = RowLines(Lines(session), limit: limit) { output, row in
                switch format {
                case .jsonl: try output.object(["key": row.key, "value": CheckedJSON(text: row.value)])
                case .tsv: try output.line(row.fields(pointers))
                }
            }
            let note = try await printRows(store, version, &rows)
            try rows.lines.end()
            if rows.printed == 0 { session.output.note("note: \(projection) at \(note.version) has no row\(asked)") }
            if let next = rows.next { session.output.note("note: more rows follow: --after \(next.description.shellWord)") }
            note.write(projection, to: session.output)
        }
    }

    private var asked: String {
        if let key { return " " + quoted(key) }
        let isPart = from != nil || to != nil || after != nil || !equals.isEmpty
        return (prefix.map { "s whose key begins with \(quoted($0))" } ?? "s") + (isPart ? " there" : "")
    }

    private func printRows(_ store: EventStore, _ version: SchemaVersion?, _ rows: inout RowLines) async throws -> QueryNote {
        var cursor = after.flatMap { QueryCursor($0) }
        guard let index else {
            return try await store.query(
                projection, at: version, key: key, prefix: prefix, from: from, to: to, backwards: backwards, after: cursor
            ) { rows.take($0, QueryCursor(after: $0.key)) }
        }
        while true {
            let page = try await store.query(
                projection, at: version, index: index, equals: equals.map(IndexValue.init(argument:)), from: bounds.from, to: bounds.to,
                backwards: backwards, limit: min(rows.left, Self.pageRows), after: cursor)
            var wantsMore = true
            for row in page.rows where wantsMore { wantsMore = rows.take(row, nil) }
            guard wantsMore, let next = page.next else { return page.note }
            if rows.left == 0 {
                rows.next = next
                return page.note
            }
            cursor = next
        }
    }

    private static let pageRows = 1_000

    private var bounds: (from: IndexValue?, to: IndexValue?) { (from.map(IndexValue.init(argument:)), to.map(IndexValue.init(argument:))) }

    private func printCount(_ store: EventStore, _ version: SchemaVersion?, _ output: Output) async throws {
        let counted =
            if let index {
                try await store.count(
                    projection, at: version, index: index, equals: equals.map(IndexValue.init(argument:)), from: bounds.from, to: bounds.to)
            } else {
                try await store.count(projection, at: version, key: key, prefix: prefix, from: from, to: to)
            }
        try output.print(["count": counted.rows]) { String(counted.rows) }
        counted.note.write(projection, to: output)
    }

    private func pointers() throws -> [JSONPointer] {
        try (columns ?? "").split(separator: ",").map { text in
            do { return try JSONPointer(String(text)) } catch {
                throw ValidationError("\(quoted(String(text))) of --columns is not a JSON pointer, such as /state")
            }
        }
    }
}

private struct RowLines {
    var lines: Lines
    private let limit: Int?
    private let print: (Output, ReadModelRow) throws -> Void
    private(set) var printed = 0
    private var last: QueryCursor?
    /// Where the remaining rows continue; nil where there are none.
    var next: QueryCursor?

    init(_ lines: Lines, limit: Int?, _ print: @escaping (Output, ReadModelRow) throws -> Void) {
        (self.lines, self.limit, self.print) = (lines, limit, print)
    }

    var left: Int { limit.map { $0 - printed } ?? .max }

    /// Prints a row; returns false where no more rows are wanted.
    mutating func take(_ row: ReadModelRow, _ cursor: QueryCursor?) -> Bool {
        if left == 0 {
            next = last
            return false
        }
        (printed, last) = (printed + 1, cursor)
        return lines.next { try print($0, row) }
    }
}

enum RowFormat: String, ExpressibleByArgument, CaseIterable { case jsonl, tsv }

extension ReadModelRow {
    /// The key and the values at some pointers: a string as it is, a missing value as nothing, any other as JSON.
    func fields(_ pointers: [JSONPointer]) throws -> String {
        let root = try JSONValue(parsing: value.lent)
        let values = pointers.map { pointer -> String in
            switch pointer.tokens.reduce(root, { $0?.member($1.text) }) {
            case .string(let text): text.field
            case .null, nil: ""
            case let other?: other.text.field
            }
        }
        return ([key.field] + values).joined(separator: "\t")
    }
}

extension QueryNote {
    func write(_ projection: String, to output: Output) {
        if quarantined > 0 {
            output.note(
                "note: \(projection) at \(version) lacks \(counted(quarantined, "quarantined event")): "
                    + "evstore quarantine list --at \(version)")
        }
        if lag > 0 {
            output.note("note: \(projection) at \(version) is \(counted(lag, "event")) behind" + (reason.map { ": \($0)" } ?? ""))
        }
    }
}

struct DiffCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Prints the keys whose rows differ between two versions of a read model.",
        discussion: """
            Example: evstore diff orders --at v4 --at v5
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The projection's name.") var projection: String
    @Argument(help: "One row's key.") var key: String?

    @Option(help: ArgumentHelp("A version; twice.", valueName: "vN")) var at: [String]

    func validate() throws {
        if at.count != 2 { throw ValidationError("diff needs --at twice: evstore diff \(projection) --at v4 --at v5") }
    }

    func run(in session: Session) async throws {
        try await session.withStore(.writingIfAllowed) { store in
            let (a, b) = try (store.version(named: at[0]), store.version(named: at[1]))
            var differing = 0
            var lines = Lines(session)
            let notes = try await store.diff(projection, a: a, b: b, key: key) { row in
                differing += 1
                return lines.next { try row.write(to: $0, a: a, b: b) }
            }
            try lines.end()
            notes.a.write(projection, to: session.output)
            notes.b.write(projection, to: session.output)
            if let key, differing == 0, try await store.query(projection, at: a, key: key) == nil {
                return session.output.note("note: \(projection) has no row \(quoted(key)), neither at \(a) nor at \(b)")
            }
            let verb = differing == 1 ? "differs" : "differ"
            session.output.remark(differing == 0 ? "\(a) and \(b) are equal" : "\(counted(differing, "key")) \(verb)")
        }
    }
}

extension RowDifference {
    func write(to output: Output, a versionA: SchemaVersion, b versionB: SchemaVersion) throws {
        try output.row(["key": key, "a": a.map(CheckedJSON.init), "b": b.map(CheckedJSON.init)]) {
            key
            for (version, row) in [(versionA, a), (versionB, b)] {
                "  \(version)  \(row.map { String(decoding: $0, as: UTF8.self) } ?? "no such row")"
            }
        }
    }
}

struct QuarantineCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "The events that a read model could not take in: listed, never dropped.",
        discussion: "Example: evstore quarantine list",
        subcommands: [List.self, Show.self, Accept.self, Retry.self])

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints them with the reason.",
            discussion: """
                The read models first catch up with the log; where one may not, or was never built, standard error says so.

                Example: evstore quarantine list --at v5 --json
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("The version of the read models; the live one where it is not given.", valueName: "vN"))
        var at: String?

        func run(in session: Session) async throws {
            try await session.withStore(.writingIfAllowed) { store in
                let version = try store.version(ifNamed: at)
                for sentence in try await store.catchUpBuilt(at: version) { session.output.note("note: \(sentence)") }
                try store.forEachQuarantined(at: version) { row in try session.output.row(row) }
            }
        }
    }

    struct Show: Command {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Prints one of them as it was written, and why it was not taken in.",
            discussion: "Example: evstore quarantine show 1204511")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "The event's position.") var position: UInt64

        @Option(help: ArgumentHelp("The version of the read models; the live one where it is not given.", valueName: "vN"))
        var at: String?

        func run(in session: Session) async throws {
            try await session.withStore(.reading) { store in
                let rows = try store.quarantine(at: store.version(ifNamed: at), position: Position(position))
                if rows.isEmpty {
                    throw EvstoreError.usage("no read model has quarantined position \(position); see: evstore quarantine list")
                }
                let event = try store.event(position: Position(position)).map { CheckedJSON(text: store.line($0)) }
                let refusals = rows.map { ["projection": $0.projection, "error": $0.error] as Members }
                if !session.output.json { try session.output.put(event.json) }
                try session.output.print(["position": position, "event": event, "refusals": refusals]) {
                    for row in rows { "\(row.projection)   \(row.error)" }
                }
            }
        }
    }

    struct Accept: Command {
        static let configuration = CommandConfiguration(
            commandName: "accept", abstract: "Has queries by types and tags leave an event out that can't be seen.",
            discussion: """
                A query that an event without an image may match ends at it: a decision must not miss what it can't see. Once somebody has \
                accepted the event at a version, with a reason, queries there leave it out. Without a position, prints those that were accepted.

                Example: evstore quarantine accept 1204511 --at v5 --because "a test order of 2019"
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "The event's position.") var position: UInt64?

        @Option(help: ArgumentHelp("The version at which it can't be seen; the live one where it is not given.", valueName: "vN"))
        var at: String?

        @Option(help: ArgumentHelp("Why it may be left out.", valueName: "reason")) var because: String?

        func run(in session: Session) async throws {
            guard let position else {
                let all = try await session.withStore(.reading) { store in try store.acceptedEvents(at: store.version(ifNamed: at)) }
                for event in all { try session.output.row(event) }
                if all.isEmpty { session.output.remark("note: no event was accepted there") }
                return
            }
            guard let because else { throw EvstoreError.usage("why may it be left out? Say --because") }
            let event = try await session.withStore { store in
                try await store.maintenance.acceptQuarantined(
                    Position(position), at: store.version(ifNamed: at), reason: because)
            }
            try session.output.print(event)
        }
    }

    struct Retry: Command {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Builds the read models that miss events anew, beside the live ones.",
            discussion: """
                An event is never applied late: where it has an image now, the whole read model is \
                built again and flipped under the same version.

                Example: evstore quarantine retry
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let report = try await session.withStore { store in
                try await store.maintenance.retryQuarantine(progress: session.progress)
            }
            try session.output.print(["rebuilt": report.rebuilt, "before": report.before, "after": report.after]) {
                "built      "
                    + (report.rebuilt.isEmpty ? "nothing: no event has an image that had none" : report.rebuilt.joined(separator: ", "))
                "quarantine \(counted(report.before, "row")) before, \(grouped(report.after)) now"
            }
            if report.after > 0 { throw Exit.quarantined }
        }
    }
}

extension QuarantineReport: Report {
    var members: Members { ["projection": projection, "position": position, "type": type, "error": error] }

    var lines: [String] { "\(projection)   position \(grouped(position.rawValue))   \(type)   \(error)" }
}

extension AcceptedEvent: Report {
    var members: Members {
        [
            "version": version, "position": position, "id": id.description, "type": type, "because": because, "by": by, "time": time,
        ]
    }

    var lines: [String] { "\(version)   position \(grouped(position.rawValue))   \(type)   \(because)   by \(by), \(time)" }
}
