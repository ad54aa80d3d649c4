internal import ArgumentParser
internal import Bytes
internal import Evstore

struct AppendCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Appends one event and returns when it is on the disk.",
        discussion: """
            The payload is one JSON object, {} where it is not given; - reads it from standard input. \
            With --id, the same append can be repeated safely: it is made once.

            Example: evstore append order-42 OrderPaid '{"id":"42","method":"card"}' --expect 0
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream, such as order-42.") var stream: String
    @Argument(help: "The event's type, as the version names it.") var type: String
    @Argument(help: "One JSON object, or - for standard input.") var payload: String = "{}"

    @Option(help: ArgumentHelp("The revision the stream must be at: a number, none, exists or any.", valueName: "n"))
    var expect: ExpectationChoice = ExpectationChoice(.any)

    @Option(help: ArgumentHelp("The event's id, unique in the store; made where it is not given.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The version it is born at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("One JSON object of metadata.", valueName: "json"))
    var metadata: String?

    func run(in session: Session) async throws {
        let stream = try StreamName(stream)
        let id = try id.map { text throws(EvstoreError) in try EventID(text) }
        let payload = try payload == "-" ? Self.payload(session.cancellation) : Array(payload.utf8)
        let receipt = try await session.withStore { store in
            let version = try at.map { text throws(EvstoreError) in try store.version(named: text) }
            return try await store.append(
                NewEvent(
                    stream: stream, type: type, payload: payload, metadata: metadata.map { Array($0.utf8) }, id: id, version: version),
                expecting: expect.expectation)
        }
        if session.output.json {
            try session.output.object([
                "position": .position(receipt.position), "revision": .count(receipt.revision.rawValue), "id": .text(receipt.id.text),
                "duplicate": .bool(receipt.duplicate),
            ])
        } else {
            try session.output.line(
                (receipt.duplicate ? "was there already: " : "appended ")
                    + "\(type) to \(stream) at revision \(grouped(receipt.revision.rawValue)), position \(grouped(receipt.position.rawValue)), id \(receipt.id)"
            )
        }
    }
}

extension AppendCommand {
    /// Standard input, of which no more is read than an event may have.
    private static func payload(_ cancellation: Cancellation) throws -> [UInt8] {
        let limit = Options().eventBytesMax
        return try Input.all("-", atMost: limit, cancellation) { .eventTooLarge(bytes: $0, limit: limit) }
    }
}

/// `--expect` as typed.
struct ExpectationChoice: ExpressibleByArgument, Sendable {
    let expectation: Expectation

    init(_ expectation: Expectation) { self.expectation = expectation }

    init?(argument: String) {
        switch argument {
        case "any": expectation = .any
        case "none": expectation = .noStream
        case "exists": expectation = .exists
        default:
            guard let revision = UInt64(argument) else { return nil }
            expectation = .revision(Revision(revision))
        }
    }

    var defaultValueDescription: String { "any" }
}
