internal import ArgumentParser
internal import Evstore
internal import Migration

struct QuarantineCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "The events that a read model could not take in: listed, never dropped.",
        discussion: "Example: evstore quarantine list",
        subcommands: [List.self, Show.self, Retry.self])

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints them with the reason.", discussion: "Example: evstore quarantine list --at v5 --json")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("The version of the read models; the live one where it is not given.", valueName: "vN"))
        var at: String?

        func run(in session: Session) async throws {
            try await session.withStore(.reading) { store in
                try store.forEachQuarantined(at: store.version(ifNamed: at)) { row in try session.output.row(row) }
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
