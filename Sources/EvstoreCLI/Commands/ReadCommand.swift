internal import ArgumentParser
internal import Evstore

struct ReadCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints events, one a line, as they are seen at a version.",
        discussion: """
            With a stream, --from is a revision; without one it is a position in the whole log. Both \
            are inclusive. A --type is found under all the names it has had. A line can be imported \
            elsewhere as it is. Where there is nothing to print, standard error says so.

            Example: evstore read order-42 --at v4
            The last event of all: evstore read --backwards --limit 1
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream; the whole log where it is not given.") var stream: String?

    @Option(help: ArgumentHelp("The version to see them at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("Where to begin: a revision with a stream, else a position.", valueName: "n"))
    var from: UInt64?

    @Option(help: ArgumentHelp("How many events at most, or some more: parts of one come together.", valueName: "n"))
    var limit: Int?

    @Flag(help: "The newest first.") var backwards = false

    @Option(help: ArgumentHelp("Only events of this type, as the version names it.", valueName: "type"))
    var type: String?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit is a number of events, not \(limit)") }
    }

    func run(in session: Session) async throws {
        let name = try stream.map { try StreamName($0) }
        try await session.withStore(.reading) { store in
            let version = try store.version(ifNamed: at)
            var (lines, isEmpty) = (Lines(session), true)
            func show(_ event: RecordedEvent) -> Bool {
                isEmpty = false
                return lines.next { try $0.put(store.line(event)) }
            }
            if let name {
                try store.read(
                    name, at: version, from: from.map { Revision($0) }, limit: limit, backwards: backwards, type: type, show)
            } else {
                try store.readAll(at: version, from: from.map { Position($0) }, limit: limit, backwards: backwards, type: type, show)
            }
            try lines.end()
            if isEmpty && limit != 0 { session.output.note("note: \(try absence(of: name, in: store, version))") }
        }
    }

    /// The reason why nothing was printed.
    private func absence(of name: StreamName?, in store: EventStore, _ version: SchemaVersion?) throws -> String {
        guard let name else { return from == nil && type == nil ? "the store has no events" : "no event is what was asked for" }
        let isUnknown = try store.read(name, at: version, limit: 1).isEmpty
        return isUnknown ? "there is no event in a stream \(quoted(name.text))" : "no event of \(quoted(name.text)) is what was asked for"
    }
}
