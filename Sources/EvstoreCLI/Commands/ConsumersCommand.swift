internal import ArgumentParser
internal import Evstore

struct ConsumersCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "consumers",
        abstract: "Who handles events once each: places, and events that were put aside.",
        discussion: "Example: evstore consumers list",
        subcommands: [List.self, Parked.self, Retry.self, Drop.self, Reset.self, Remove.self])

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints each with its place, how far it lags, and who holds its name.",
            discussion: "Example: evstore consumers list --json")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let rows = try await session.withStore(.reading) { store in try store.consumers() }
            for row in rows { try session.output.row(row) }
            if rows.isEmpty { session.output.remark("note: there are no consumers; evstore consume begins one") }
        }
    }

    struct Parked: Command {
        static let configuration = CommandConfiguration(
            commandName: "parked", abstract: "Prints the events that a consumer has put aside, with the reason.",
            discussion: "Example: evstore consumers parked mailer")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "The consumer's name.") var name: String

        func run(in session: Session) async throws {
            let rows = try await session.withStore(.reading) { store in try store.parked(of: name) }
            for row in rows { try session.output.row(row) }
        }
    }

    struct Retry: Command {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Has parked events tried again: one, or all.",
            discussion: """
                Whoever holds the consumer's name tries them again within the store's poll, else whoever holds it next.

                Example: evstore consumers retry mailer --position 1204511
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "The consumer's name.") var name: String
        @Option(help: ArgumentHelp("Only the event at this position.", valueName: "n")) var position: UInt64?

        func run(in session: Session) async throws {
            let count = try await session.withStore { store in
                try await store.maintenance.retryParked(of: name, position: position.map { Position($0) })
            }
            try session.output.print(["retried": count]) { "\(counted(count, "event")) \(count == 1 ? "is" : "are") tried again" }
        }
    }

    struct Drop: Command {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Gives parked events up: one, or all; the reason stands in the journal.",
            discussion: "Example: evstore consumers drop mailer --position 1204511 --reason 'the address is gone'")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "The consumer's name.") var name: String
        @Option(help: ArgumentHelp("Only the event at this position.", valueName: "n")) var position: UInt64?
        @Flag(help: "All of them.") var all = false
        @Option(help: ArgumentHelp("Why, for the journal.", valueName: "text")) var reason: String

        func validate() throws {
            if (position == nil) != all { throw ValidationError("give either --position or --all") }
        }

        func run(in session: Session) async throws {
            let count = try await session.withStore { store in
                try await store.maintenance.dropParked(of: name, position: position.map { Position($0) }, reason: reason)
            }
            try session.output.print(["dropped": count]) { "\(counted(count, "event")) \(count == 1 ? "is" : "are") given up" }
        }
    }

    struct Reset: Command {
        static let configuration = CommandConfiguration(
            commandName: "reset", abstract: "Puts a consumer's place elsewhere.",
            discussion: """
                Events behind the place are handled again, those before it are not. Refused while a process holds the consumer's name.

                Example: evstore consumers reset mailer --to 1204511
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "The consumer's name.") var name: String
        @Option(help: ArgumentHelp("start, end, or the position behind which it goes on.", valueName: "place")) var to: String

        func validate() throws { try ConsumerStart.check(to, of: "--to") }

        func run(in session: Session) async throws {
            try await session.withStore { store in
                let start = ConsumerStart(named: to, in: try store.last().epoch)
                try await store.maintenance.resetConsumer(name, to: start)
            }
        }
    }

    struct Remove: Command {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Forgets a consumer, its place and what it has parked.",
            discussion: "Example: evstore consumers remove mailer")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions
        @Argument(help: "The consumer's name.") var name: String

        func run(in session: Session) async throws {
            try await session.withStore { store in try await store.maintenance.removeConsumer(name) }
        }
    }
}

extension ConsumerStart {
    /// Refuses what `init(named:in:)` does not take.
    static func check(_ text: String, of option: String) throws {
        if text != "start", text != "end", UInt64(text) == nil {
            throw ValidationError("\(quoted(text)) of \(option) is neither start, end nor a position")
        }
    }

    /// `start`, `end` or a position.
    init(named text: String, in epoch: Epoch) {
        switch text {
        case "start": self = .start
        case "end": self = .end
        default: self = .after(Checkpoint(epoch: epoch, position: Position(UInt64(text) ?? 0)))
        }
    }
}

extension ConsumerStatus: Report {
    var members: Members {
        [
            "name": name, "position": place.position, "epoch": place.epoch, "version": version, "types": types, "lag": lag,
            "cutOff": isCutOff, "handled": handled, "parked": parked, "failing": failing, "error": error, "holder": holder,
        ]
    }

    var lines: [String] {
        [
            name, "position \(grouped(place.position.rawValue))",
            isCutOff ? "cut off: see evstore consumers reset --help" : "\(counted(lag, "event")) behind",
            "\(grouped(parked)) parked", holder ?? "nobody has it", error ?? "",
        ].filter { !$0.isEmpty }.joined(separator: "   ")
    }
}

extension ParkedEvent: Report {
    var members: Members {
        [
            "position": position, "stream": stream, "type": type, "attempts": attempts, "error": error, "time": time,
            "retry": isToRetry,
        ]
    }

    var lines: [String] {
        let tried = "tried \(counted(attempts, "time"))\(isToRetry ? ", to be tried again" : "")"
        "position \(grouped(position.rawValue))   \(stream)   \(type)   \(tried)   \(error)"
    }
}
