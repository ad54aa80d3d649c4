internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import JSONText

struct QueryCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Prints rows of a read model, in key order.",
        discussion: """
            The read model first catches up with the log; where it may not, standard error says how \
            far it lags, and always how many quarantined events it lacks. No such row is no line, a \
            note on standard error, and exit code 0. A row is {"key":…,"value":{…}}; as tab-separated values it is the key and \
            then a field for each pointer of --columns.

            Example: evstore query orders 42
            Example: evstore query orders --prefix 4 --format tsv --columns /state,/total
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The projection's name.") var projection: String
    @Argument(help: "One row's key.") var key: String?

    @Option(help: ArgumentHelp("Only rows whose key begins so.", valueName: "p")) var prefix: String?

    @Option(help: ArgumentHelp("The version of the read model; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Flag(help: "Print the number of rows instead.") var count = false

    @Option(help: "How a row is written: jsonl or tsv.") var format: RowFormat = .jsonl

    @Option(help: ArgumentHelp("The pointers whose values are the fields of a row, with commas between.", valueName: "/a,/b"))
    var columns: String?

    func validate() throws {
        if columns != nil && format != .tsv { throw ValidationError("--columns needs --format tsv") }
        if key != nil && prefix != nil { throw ValidationError("a KEY and a --prefix exclude each other") }
        if format == .tsv && global.json { throw ValidationError("--json and --format tsv exclude each other") }
        _ = try pointers()
    }

    func run(in session: Session) async throws {
        let pointers = try pointers()
        try await session.withStore(.writingIfAllowed) { store in
            let version = try at.map { text throws(EvstoreError) in try store.version(named: text) }
            let note: QueryNote
            var (lines, isEmpty) = (Lines(session), true)
            if count {
                let counted = try await store.count(projection, at: version, key: key, prefix: prefix)
                note = counted.note
                if session.output.json {
                    try session.output.object(["count": .count(counted.rows)])
                } else {
                    try session.output.line(String(counted.rows))
                }
            } else {
                note = try await store.query(projection, at: version, key: key, prefix: prefix) { row in
                    isEmpty = false
                    return lines.next { output in
                        switch format {
                        case .jsonl: try output.object(["key": .text(row.key), "value": .json(row.value)])
                        case .tsv: try output.line(row.fields(pointers))
                        }
                    }
                }
            }
            try lines.end()
            if isEmpty && !count {
                let which = key.map { " \(quoted($0))" } ?? prefix.map { "s whose key begins with \(quoted($0))" } ?? "s"
                session.output.note("note: \(projection) at \(note.version) has no row\(which)")
            }
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
