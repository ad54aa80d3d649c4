internal import ArgumentParser
internal import Evstore

struct ExportCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the whole log, one event a line, for `import`.",
        discussion: """
            At birth, which is the default, loses nothing: each event is as it was written, and says \
            at which version. At a version, events are as that version sees them.

            Example: evstore export > orders.jsonl
            For others: evstore export --at v5 --format cloudevents > orders.json
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to see events at, or born.", valueName: "vN"))
    var at: String = "born"

    @Option(help: "How a line is written: jsonl or cloudevents.", transform: oneOf)
    var format: EventFormat = .jsonl

    func run(in session: Session) async throws {
        try await session.withStore(.reading) { store in
            let version = try at == "born" ? nil : store.version(named: at)
            var lines = Lines(session)
            try await store.export(convertedTo: version, format: format) { text in
                lines.next { try $0.put(lines: text) }
            }
            try lines.end()
        }
    }
}
