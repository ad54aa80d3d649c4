internal import ArgumentParser
internal import Evstore
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

    @Option(help: ArgumentHelp("Only events of this type, as the version names it; may be given several times.", valueName: "type"))
    var type: [String] = []

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
            throw ValidationError("--time-limit is a number of seconds above 0")
        }
        try ConsumerStart.check(from, of: "--from")
    }

    func run(in session: Session) async throws {
        guard let path = ProgramPath.find(program[0]) else { throw EvstoreError.usage("there is no program \(quoted(program[0]))") }
        try await session.withStore { store in
            let version = try store.version(ifNamed: at)
            if let holder = try store.consumers().first(where: { $0.name == name })?.holder {
                session.output.note("\(holder) has the name \(name): standing by, ^C ends it")
            }
            let start = ConsumerStart(named: from, in: try store.last().epoch)
            let handled = Monitor<UInt64>(0)
            // An interruption is a normal end: then it returns.
            try await store.consume(
                name, from: start, types: type.isEmpty ? nil : type, at: version, batch: batch, options: options
            ) { events, context in
                var lines: [UInt8] = []
                for event in events { lines += Array(store.line(event)) + [UInt8(ascii: "\n")] }
                let run = ProgramRun(path: path, arguments: Array(program.dropFirst()), lines: lines, context: context)
                try await run.run(limit: timeLimit)
                handled.withLock { $0 += UInt64(events.count) }
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

    private var options: ConsumerOptions {
        var options = ConsumerOptions()
        (options.concurrency, options.onFailure, options.retry.attemptsMax) = (concurrency, onFailure.rule, attempts)
        options.endsAtLogEnd = once
        return options
    }
}

enum FailureChoice: String, ExpressibleByArgument, CaseIterable {
    case park, stop

    var rule: ConsumerFailureRule { self == .park ? .park : .stop }
}
