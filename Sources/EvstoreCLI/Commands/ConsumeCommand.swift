internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import Foundation
internal import Platform

struct ConsumeCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "consume",
        abstract: "Runs a program for events as they come, and keeps the place.",
        discussion: """
            The program gets events as lines on its standard input, as `evstore read` prints them, and answers with its exit code: 0 where it \
            has handled all of them. Else they are tried again, one by one, with growing pauses; an event that is never handled is parked, or \
            ends the command with --on-failure stop. The place is kept under the name, over all processes: one of them works, others stand by. \
            An event may come twice around a crash; its id tells. The attempt is in EVSTORE_ATTEMPT, the name in EVSTORE_CONSUMER. ^C ends it \
            with 0 once the program at work has ended.

            A program that hangs holds up all events behind. With --time-limit, what runs longer gets SIGTERM, and SIGKILL 5 s later, with \
            the processes that it has begun; the events then count as not handled, like those of any program that fails. Give it several \
            times what the slowest batch takes.

            With --once the exit code is 8 while events are parked, also of earlier runs: retry or drop them.

            Example: evstore consume mailer --from end --type OrderPlaced -- ./send.sh
            For a timer: evstore consume mailer --once --time-limit 30 -- ./send.sh
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The consumer's name.") var name: String

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The program, found by PATH, and its arguments.", valueName: "program"))
    var program: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where a consumer begins that is new: start, end, or behind a position.", valueName: "place"))
    var from: String = "start"

    @OptionGroup(title: "Which events") var which: EventQueryOptions

    @Option(help: ArgumentHelp("The version to see events at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("How many events the program gets at most.", valueName: "n")) var batch = 1

    @Option(help: ArgumentHelp("How many programs run side by side; events of one stream stay in order.", valueName: "n"))
    var concurrency = 1

    @Option(help: ArgumentHelp("How often an event is tried in all; at least once alone, after a batch that failed.", valueName: "n"))
    var attempts = 10

    @Option(help: ArgumentHelp("How long the program may run each time; without an end where not given.", valueName: "seconds"))
    var timeLimit: Double?

    @Flag(help: "End when it has come to the log's end, for a timer.") var once = false

    @Option(help: "What becomes of an event that was never handled: park or stop.") var onFailure: FailureChoice = .park

    func validate() throws {
        if program.isEmpty { throw ValidationError("which program? It stands behind two dashes: -- ./send.sh") }
        if batch < 1 || concurrency < 1 || attempts < 1 { throw ValidationError("--batch, --concurrency and --attempts are at least 1") }
        if let timeLimit, !(0.001 ... 1e9).contains(timeLimit) {
            throw ValidationError("--time-limit is a number of seconds from 0.001 to a billion")
        }
        try ConsumerStart.check(from, of: "--from")
    }

    func run(in session: Session) async throws {
        guard let path = ProgramPath.find(program[0]) else { throw EvstoreError.usage("there is no program \(quoted(program[0]))") }
        let query = try which.query(in: session.words)
        try await session.withStore { store in
            let version = try store.version(ifNamed: at)
            if let holder = try store.consumers().first(where: { $0.name == name })?.holder {
                session.output.note("\(holder) has the name \(name): standing by, ^C ends it")
            }
            let start = ConsumerStart(named: from, in: try store.last().epoch)
            let handled = Monitor<UInt64>(0)
            let options = ConsumerOptions(
                retry: RetryPolicy(attemptsMax: attempts), onFailure: onFailure.rule, concurrency: concurrency, endsAtLogEnd: once)
            do {
                // An interruption is a normal end: then it returns.
                try await store.consume(
                    name, from: start, matching: query, at: version, batch: batch, options: options
                ) { events, context in
                    var lines: [UInt8] = []
                    for event in events { lines += Array(store.line(event)) + [UInt8(ascii: "\n")] }
                    let run = ProgramRun(path: path, arguments: Array(program.dropFirst()), lines: lines, context: context)
                    try await run.run(limit: timeLimit)
                    handled.withLock { $0 += UInt64(events.count) }
                }
            } catch {
                let way: (goal: String, place: Position)? =
                    switch error {
                    case EvstoreError.noImage(let failure): failure.position.map { ("move past it", $0) }
                    case EvstoreError.epochChanged(_, let cut): ("let it go on where the log was cut", cut.position)
                    default: nil
                    }
                if let way {
                    let command = Advice.Call.resetConsumer(name, to: way.place).command
                    session.output.note("note: to \(way.goal): \(command)")
                }
                throw error
            }
            if let after = try store.consumers().first(where: { $0.name == name }) {
                let handled = handled.withLock(\.self)
                let object: Members = ["name": name, "position": after.place.position, "handled": handled, "parked": after.parked]
                try session.output.print(object) {
                    let parked = after.parked == 0 ? "" : "; \(counted(after.parked, "event")) parked: evstore consumers parked \(name)"
                    "handled    \(counted(handled, "event")), up to position \(grouped(after.place.position.rawValue))\(parked)"
                }
                if once, after.parked > 0 { throw Exit.quarantined }
            }
        }
    }
}

enum FailureChoice: String, ExpressibleByArgument, CaseIterable {
    case park, stop

    var rule: ConsumerFailureRule { self == .park ? .park : .stop }
}

enum ProgramPath {
    /// The path of a program: unchanged where it has a slash, else the first executable in PATH; nil where there is none.
    static func find(_ name: String) -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let paths = name.contains("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { isFile($0) && FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func isFile(_ path: String) -> Bool {
        do { return try Directory.status(path)?.isFile ?? false } catch { return false }
    }
}

/// A program that handles the events of a consumer: it reads lines on its standard input, and answers with its exit code.
struct ProgramRun: Sendable {
    let path: String
    let arguments: [String]
    let lines: [UInt8]
    let context: ConsumerContext

    /// - Parameter limit: seconds after which the program and the processes that it has started are told to end; nil where it may run for
    ///   ever.
    /// - Throws: `Failed` where the program ended with another code than 0, by a signal, or at the limit; `EvstoreError.consumerStopped`
    ///   where it could not be started and a further attempt can't help.
    func run(limit: Double? = nil) async throws {
        try await StoreThreads.run { () async throws in
            let own = ["EVSTORE_CONSUMER": context.consumer, "EVSTORE_ATTEMPT": String(context.attempt)]
            let environment = ProcessInfo.processInfo.environment.merging(own) { _, own in own }.map { "\($0.key)=\($0.value)" }
            let child = try start(environment)
            if let limit, !child.ends(within: .seconds(limit)) {
                child.sendGroup(signal: SIGTERM)
                if !child.groupEnds(within: Self.grace) { child.sendGroup(signal: SIGKILL) }
                _ = child.wait()
                throw Failed(description: "\(path) ran longer than it may and was ended")
            }
            switch child.wait() {
            case .exit(0): return
            case .exit(let code): throw Failed(description: "\(path) ended with exit code \(code)")
            case .signal(let signal): throw Failed(description: "\(path) was ended by signal \(signal)")
            }
        }
    }

    /// How long a program and the processes that it has started may take to end once they are told to.
    private static let grace = Duration.seconds(5)

    /// Starts the program in a process group of its own, so that ^C lets it finish.
    private func start(_ environment: [String]) throws -> ChildProcess {
        do {
            return try MemoryFile.lend(lines) { input throws(SystemFailure) in
                try ChildProcess(
                    path, arguments, environment: environment, files: .init(input: input, output: nil, errors: nil), inOwnGroup: true)
            }
        } catch {
            // A temporary obstacle, such as a lack of memory or a program that is being written, may be gone at the next attempt.
            guard error.isNotExecutable else { throw Failed(description: "\(path) could not be started: \(error)") }
            let reason = "\(path) can't be started: \(error)"
            throw EvstoreError.consumerStopped(consumer: context.consumer, position: context.checkpoint.position, reason: reason)
        }
    }

    struct Failed: Error, CustomStringConvertible { let description: String }
}

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
            // For programs alone: they get an object from each command.
            try session.output.print(["name": name]) {}
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
            try session.output.print(["name": name]) {}
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
            "name": name, "position": place.position, "epoch": place.epoch, "version": version, "types": query?.typesAlone,
            "query": query?.description, "lag": lag,
            "cutOff": isCutOff, "handled": handled, "parked": parked, "failing": failing, "error": error, "holder": holder,
        ]
    }

    var lines: [String] {
        [
            name, "position \(grouped(place.position.rawValue))",
            isCutOff ? "cut off: see evstore consumers reset --help" : "\(counted(lag, "event")) behind",
            "\(grouped(parked)) parked", holder ?? "nobody has it", query.map { "takes \($0)" } ?? "", error ?? "",
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
