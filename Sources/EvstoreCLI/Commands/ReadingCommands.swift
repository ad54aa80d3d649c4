internal import ArgumentParser
internal import Evstore
internal import Migration
internal import SchemaEvolution

struct ReadCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints events, one a line, as they are seen at a version.",
        discussion: """
            With a stream, --from is a revision; without one it is a position in the whole log. Both \
            are inclusive. A --type is found under all the names it has had, and a --tag is what the \
            version file gives events at --at. A line can be imported elsewhere as it is. Where there is \
            nothing to print, standard error says so.

            --condition FILE writes down what a decision on these events depends on: `evstore append \
            --unless FILE` is refused where one of those that were asked for has come since.

            Example: evstore read order-42 --at v4
            By tags: evstore read --tag course:c1 --type StudentEnrolled --or --tag student:s7
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

    @Option(help: ArgumentHelp("Write the condition of a decision on these events to a file; not of one stream.", valueName: "file"))
    var condition: String?

    @OptionGroup(title: "Which events") var which: EventQueryOptions

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit is a number of events, not \(limit)") }
        if condition != nil, stream != nil {
            throw ValidationError("a decision on one stream appends with --expect: --condition is of the types and tags of the whole log")
        }
    }

    func run(in session: Session) async throws {
        let name = try stream.map { try StreamName($0) }
        let query = try which.query(in: session.words)
        // The index of tags is brought to the log's end, as `query` does with a read model.
        let usesIndex = name == nil && query?.alwaysNamesTags == true
        try await session.withStore(usesIndex ? .writingIfAllowed : .reading) { store in
            // Order: found once, so that a condition is of the version that is shown, whatever is flipped meanwhile.
            let version = try store.version(ifNamed: at) ?? (self.condition == nil ? nil : store.workingVersion)
            if usesIndex { try await store.bringUpTagIndex(for: query, at: version ?? store.workingVersion) }
            // Order: made before anything is read.
            let condition = try self.condition.map { try ($0, store.presentCondition(on: query ?? .all, at: version)) }
            var (lines, isEmpty) = (Lines(session), true)
            func show(_ event: RecordedEvent) -> Bool {
                isEmpty = false
                return lines.next { try $0.put(store.line(event)) }
            }
            let leftOut: Int
            if let name {
                leftOut = try store.read(
                    name, at: version, from: from.map { Revision($0) }, limit: limit, backwards: backwards, matching: query, show)
            } else {
                leftOut = try store.readAll(
                    at: version, from: from.map { Position($0) }, limit: limit, backwards: backwards, matching: query, show)
            }
            try lines.end()
            if let (file, condition) = condition { try SourceFile.write(condition.line, to: file) }
            if leftOut > 0 {
                let seen = try version ?? store.workingVersion
                session.output.note(
                    "note: \(counted(leftOut, "event")) without an image at \(seen) \(leftOut == 1 ? "is" : "are") left out: "
                        + "evstore quarantine accept --at \(seen)")
            }
            if isEmpty && limit != 0 { session.output.note("note: \(try absence(of: name, query, in: store, version))") }
        }
    }

    private func absence(
        of name: StreamName?, _ query: EventQuery?, in store: EventStore, _ version: SchemaVersion?
    ) throws -> String {
        guard let name else { return from == nil && query == nil ? "the store has no events" : "no event is what was asked for" }
        let isUnknown = try store.read(name, at: version, limit: 1).isEmpty
        return isUnknown ? "there is no event in a stream \(quoted(name.text))" : "no event of \(quoted(name.text)) is what was asked for"
    }
}

struct WatchCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints what is appended, as it is appended, also by other processes.",
        discussion: """
            Begins at the end of the log and goes on until ^C, which ends it with 0.

            Example: evstore watch order-42
            By tags: evstore watch --tag course:c1
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream; the whole log where it is not given.") var stream: String?

    @Option(help: ArgumentHelp("The version to see events at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @OptionGroup(title: "Which events") var which: EventQueryOptions

    func run(in session: Session) async throws {
        let name = try stream.map { try StreamName($0) }
        let query = try which.query(in: session.words)
        // For writing, since a node takes in what others append only so.
        try await session.withStore(.writingIfAllowed) { store in
            let version = try store.version(ifNamed: at)
            let end = try store.last()
            // Order: what can't be seen is refused before the command says that it watches.
            try store.requirePossible(query, at: version)
            session.interrupts.areTheNormalEnd()
            var pages = store.subscribe(to: name, after: end, at: version, matching: query).pages.makeAsyncIterator()
            session.output.note("watching after position \(grouped(end.position.rawValue)); ^C ends it")
            do {
                while let page = try await pages.next() {
                    for event in page { try session.output.put(store.line(event)) }
                    try session.output.flush()
                }
            } catch  where session.interrupts.isCancelled {
                // An interruption is the normal end of a watch.
            }
        }
    }
}

struct ExportCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the whole log or some of it, one event a line, for `import`.",
        discussion: """
            At birth, which is the default, each event is as it was written, and says at which version; its \
            type and its tags are those of that version. \
            At a version, events are as that version sees them. A line does not say which events \
            were appended together: an import may join what a merge-events step can join.

            Example: evstore export > orders.jsonl
            Some of it: evstore export --at v5 --type OrderPlaced --tag customer:c7
            For others: evstore export --at v5 --format cloudevents > orders.json
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to see events at, or born.", valueName: "vN"))
    var at: String = "born"

    @Option(help: "How a line is written: jsonl or cloudevents.", transform: oneOf)
    var format: EventFormat = .jsonl

    @OptionGroup(title: "Which events") var which: EventQueryOptions

    func run(in session: Session) async throws {
        let query = try which.query(in: session.words)
        try await session.withStore(.reading) { store in
            let version = try at == "born" ? nil : store.version(named: at)
            var (lines, isEmpty) = (Lines(session), true)
            try await store.export(convertedTo: version, matching: query, format: format) { text in
                isEmpty = false
                return lines.next { try $0.put(lines: text) }
            }
            try lines.end()
            if isEmpty, query != nil { session.output.note("note: no event is what was asked for") }
        }
    }
}

struct JournalCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Prints what was registered, replayed, rolled back and so on, oldest first.",
        discussion: "Example: evstore journal --json")

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let rows = try await session.withStore(.reading) { store in try store.maintenance.journal() }
        for row in rows { try session.output.row(row) }
    }
}

extension JournalRow: Report {
    var members: Members {
        [
            "time": time, "what": kind.rawValue, "from": from, "to": to, "position": position, "seconds": duration, "outcome": outcome,
            "by": by,
        ]
    }

    var lines: [String] {
        let versions = [from, to].compactMap(\.self).map(\.description).joined(separator: " -> ")
        [
            time.description.padded(to: 27), kind.rawValue.padded(to: 8), versions.padded(to: 8),
            position.map { "at \(grouped($0.rawValue))" }, duration?.inWords, readModelBytes.map { size(bytes: $0) },
            outcome, "by \(by)",
        ].compactMap(\.self).joined(separator: "  ")
    }
}
