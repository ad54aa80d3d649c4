internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import JSONText

struct QueryCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Prints rows of a read model, in the order of their keys.",
        discussion: """
            The read model first catches up with the log; where it may not, standard error says how \
            far it lags, and always how many quarantined events it lacks. No such row is no line, a \
            note on standard error, and exit code 0. A row is {"key":…,"value":{…}}; as tab-separated values it is the key and \
            then a field for each pointer of --columns. Where --limit has left rows out, standard error says so, with the cursor that \
            --after takes to go on: the letter k and the last key.

            Example: evstore query orders 42
            Example: evstore query orders --from 2026-11 --to 2026-12 --backwards --limit 20
            Example: evstore query orders --prefix 4 --format tsv --columns /state,/total
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The projection's name.") var projection: String
    @Argument(help: "One row's key.") var key: String?

    @Option(help: ArgumentHelp("Only rows whose key begins so.", valueName: "p")) var prefix: String?

    @Option(help: ArgumentHelp("Only rows whose key is this one, or sorts behind it byte by byte.", valueName: "key"))
    var from: String?

    @Option(help: ArgumentHelp("Only rows whose key sorts before this one.", valueName: "key")) var to: String?

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
        if let from, let to, !from.utf8.lexicographicallyPrecedes(to.utf8) {
            throw ValidationError("no key lies between --from \(quoted(from)) and --to \(quoted(to)), which it has to sort before")
        }
        if let after, QueryCursor(after) == nil {
            throw ValidationError("\(quoted(after)) is no cursor: it is the letter k and the key of the last row")
        }
        if format == .tsv && global.json { throw ValidationError("--json and --format tsv exclude each other") }
        _ = try pointers()
    }

    func run(in session: Session) async throws {
        let pointers = try pointers()
        try await session.withStore(.writingIfAllowed) { store in
            let version = try at.map { text throws(EvstoreError) in try store.version(named: text) }
            let note: QueryNote
            var (lines, printed) = (Lines(session), 0)
            var (last, isCut): (String?, Bool) = (nil, false)
            if count {
                let counted = try await store.count(projection, at: version, key: key, prefix: prefix, from: from, to: to)
                note = counted.note
                if session.output.json {
                    try session.output.object(["count": .count(counted.rows)])
                } else {
                    try session.output.line(String(counted.rows))
                }
            } else {
                let cursor = after.flatMap { QueryCursor($0) }
                note = try await store.query(
                    projection, at: version, key: key, prefix: prefix, from: from, to: to, backwards: backwards, after: cursor
                ) { row in
                    isCut = printed == limit
                    if isCut { return false }
                    (printed, last) = (printed + 1, row.key)
                    return lines.next { output in
                        switch format {
                        case .jsonl: try output.object(["key": .text(row.key), "value": .json(row.value)])
                        case .tsv: try output.line(row.fields(pointers))
                        }
                    }
                }
            }
            try lines.end()
            if printed == 0 && !count {
                let asked = prefix.map { "s whose key begins with \(quoted($0))" } ?? "s"
                let isPart = from != nil || to != nil || after != nil
                let which = key.map { " \(quoted($0))" } ?? asked + (isPart ? " there" : "")
                session.output.note("note: \(projection) at \(note.version) has no row\(which)")
            }
            if isCut, let last { session.output.note("note: more rows follow: --after \(QueryCursor(after: last).description.shellWord)") }
            note.write(projection, to: session.output)
        }
    }

    private func pointers() throws -> [JSONPointer] {
        try (columns ?? "").split(separator: ",").map { text in
            do { return try JSONPointer(String(text)) } catch {
                throw ValidationError("\(quoted(String(text))) of --columns is not a JSON pointer, such as /state")
            }
        }
    }
}

enum RowFormat: String, ExpressibleByArgument, CaseIterable { case jsonl, tsv }

extension ReadModelRow {
    /// The key, then each value: a string as it is, an absent one as nothing, others as JSON.
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
