internal import ArgumentParser
internal import Evstore

struct AppendCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Appends one event, or several together, and returns when it is on the disk.",
        discussion: """
            The payload is one JSON object, {} where it is not given; - reads it from standard input. \
            With --id, the same append can be repeated safely: it is made once.

            With --lines, the events of a file are one append, all of them or none: a line is what import \
            takes, {"stream":"order-42","type":"OrderPlaced","data":{…}}, with id, time, metadata and \
            version where they matter. A line may also have expect, which is what its stream must be at before \
            the append: a revision, "none", "exists" or "any"; --expect says it for lines of one stream. The \
            first line's id makes the append safe to repeat. What merge-events joins is appended so.

            Example: evstore append order-42 OrderPaid '{"id":"42","method":"card"}' --expect 0
            Several: evstore append --lines moved.jsonl
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream, such as order-42.") var stream: String?
    @Argument(help: "The event's type, as the version names it.") var type: String?
    @Argument(help: "One JSON object, or - for standard input; {} where it is not given.") var payload: String?

    @Option(help: ArgumentHelp("Append the events of a file of lines together; - is standard input.", valueName: "file"))
    var lines: String?

    @Option(help: ArgumentHelp("The revision the stream must be at: a number, none, exists or any, which is the default.", valueName: "n"))
    var expect: ExpectationChoice?

    @Option(help: ArgumentHelp("The event's id, unique in the store; made where it is not given.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The version it is born at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("One JSON object of metadata.", valueName: "json"))
    var metadata: String?

    func validate() throws {
        if lines == nil {
            if stream == nil || type == nil { throw ValidationError("say STREAM and TYPE of one event, or --lines FILE") }
        } else if stream != nil || id != nil || metadata != nil {
            throw ValidationError("--lines says stream, type, id and metadata of each event: leave them out")
        }
    }

    func run(in session: Session) async throws {
        let one = try lines == nil ? event(session.interrupts) : nil
        let text = try lines.map { try Input.all($0, atMost: Options().appendBytesMax, session.interrupts) }
        let (receipt, count) = try await session.withStore { store in
            let version = try store.version(ifNamed: at)
            if var one {
                one.version = version
                return (try await store.append(one, expecting: expect?.expectation ?? .any), 1)
            }
            var several = try store.eventLines(text ?? [], of: lines == "-" ? nil : lines, bornAt: version)
            if let condition = try condition(of: several.events) { several.conditions.append(condition) }
            return (try await store.append(several), several.events.count)
        }
        let object: Members = [
            "position": receipt.position, "revision": receipt.revision.rawValue, "id": receipt.id.text, "duplicate": receipt.duplicate,
        ]
        try session.output.print(object) {
            let what = one.map { "\($0.type) to \($0.stream)" } ?? counted(count, "event")
            let place = "revision \(grouped(receipt.revision.rawValue))" + (one == nil ? " of \(receipt.stream)" : "")
            (receipt.duplicate ? "was there already: " : "appended ")
                + "\(what) at \(place), position \(grouped(receipt.position.rawValue)), id \(receipt.id)"
        }
    }

    /// The condition that `--expect` states for the stream of all events; nil where it is not given.
    private func condition(of events: [NewEvent]) throws(EvstoreError) -> StreamCondition? {
        guard let first = events.first else { throw .usage("\(lines.map(quoted) ?? "") has no line to append") }
        guard let expect else { return nil }
        guard events.allSatisfy({ $0.stream == first.stream }) else {
            throw .usage("--expect is of one stream, and these lines are of several: write \"expect\" into the lines that expect something")
        }
        return StreamCondition(first.stream, expect.expectation)
    }

    /// The event that the arguments describe.
    private func event(_ interrupts: Interrupts) throws -> NewEvent {
        let stream = try StreamName(stream ?? "")
        let id = try id.map { try EventID($0) }
        let limit = Options().eventBytesMax
        let payload =
            try payload == "-"
            ? Input.all("-", atMost: limit, interrupts) { .eventTooLarge(bytes: $0, limit: limit) } : Array((payload ?? "{}").utf8)
        return NewEvent(stream: stream, type: type ?? "", payload: payload, metadata: metadata.map { Array($0.utf8) }, id: id)
    }
}

/// `--expect` as typed.
struct ExpectationChoice: ExpressibleByArgument, Sendable {
    let expectation: Expectation

    init?(argument: String) {
        guard let expectation = Expectation(word: argument) else { return nil }
        self.expectation = expectation
    }
}
