internal import ArgumentParser
internal import Evstore

struct WatchCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints what is appended, as it is appended, also by other processes.",
        discussion: """
            Begins at the end of the log and goes on until ^C, which ends it with 0.

            Example: evstore watch order-42
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream; the whole log where it is not given.") var stream: String?

    @Option(help: ArgumentHelp("The version to see events at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("Only events of this type, as the version names it.", valueName: "type"))
    var type: String?

    func run(in session: Session) async throws {
        let name = try stream.map { try StreamName($0) }
        try await session.withStore(.reading) { store in
            let version = try store.version(ifNamed: at)
            let end = try store.last()
            var pages = store.subscribe(to: name, after: end, at: version, type: type).pages.makeAsyncIterator()
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
