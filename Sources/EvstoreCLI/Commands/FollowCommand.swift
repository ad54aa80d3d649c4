internal import ArgumentParser
internal import EventModel
internal import Evstore

struct FollowCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Keeps a replica of another store by its backups: a warm standby.",
        discussion: """
            The first time it makes the replica at --store, where nothing may be yet; afterwards it takes in what newer backups have. All of it \
            is checked first, and a replica that is killed meanwhile is what its original was at some time. It can be read, queried, verified \
            and exported, by others too; it takes no appends and no migrations until `evstore promote`.

            It looks again every --every, until ^C or SIGTERM ends it with 0, and says nothing when nothing is new. What may pass, such as a \
            directory that is being copied, is a note, and tried again. From - comes one whole backup, as from a file; then it ends.

            Example: evstore --store standby follow --from /mnt/backups/orders
            Over a pipe, from a timer: ssh primary 'evstore --store orders backup -' | evstore --store standby follow --from -
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("A directory of backups, a file, or -.", valueName: "dir|file|-")) var from: String
    @Option(
        help: ArgumentHelp("How often it looks for a newer backup, such as 500ms, 5s or 2m; 5s where it is not given.", valueName: "time"))
    var every: String?
    @Flag(help: "Look once, for a timer.") var once = false

    func validate() throws {
        if once && every != nil { throw ValidationError("--once looks once, --every again and again: say one of them") }
        if from == "-" && every != nil { throw ValidationError("--every is for a directory: a pipe brings one backup") }
        _ = try interval()
    }

    private func interval() throws -> Duration {
        guard let every else { return .seconds(5) }
        let digits = every.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), count > 0, count <= 1_000_000 else { throw unreadable(every) }
        return switch every.dropFirst(digits.count) {
        case "ms": .milliseconds(count)
        case "s": .seconds(count)
        case "m": .seconds(60 * count)
        default: throw unreadable(every)
        }
    }

    private func unreadable(_ text: String) -> ValidationError {
        ValidationError("\(quoted(text)) of --every is no time such as 500ms, 5s or 2m")
    }

    func run(in session: Session) async throws {
        let replica = try global.storePath()
        if Input.isFile(from) {
            if every != nil { throw EvstoreError.usage("--every is for a directory: \(from) is one backup") }
            let input = try Input.pieces(from, session.interrupts)
            let report = try await advising(session) {
                try await StoreMaintenance.follow(
                    named: from == "-" ? "on standard input" : from, into: replica, options: session.options(),
                    progress: session.progress, from: input)
            }
            return try write(report, replica, session)
        }
        if once { return try await write(look(replica, session), replica, session) }
        try await keepLooking(replica, session)
    }

    private func look(_ replica: String, _ session: Session) async throws -> FollowReport {
        try await advising(session) {
            try await StoreMaintenance.follow(from: from, into: replica, options: session.options(), progress: session.progress)
        }
    }

    /// Follows until an interruption, which is its normal end.
    private func keepLooking(_ replica: String, _ session: Session) async throws {
        let interval = try interval()
        var noted = ""
        while !session.interrupts.isCancelled {
            do {
                let report = try await look(replica, session)
                if report.isNew {
                    try write(report, replica, session)
                    try session.output.flush()
                }
                noted = ""
            } catch let error as EvstoreError where session.interrupts.isCancelled && error.code == "interrupted" {
                break
            } catch let error as EvstoreError where error.mayPass {
                session.bar.finish()
                if error.message != noted { session.output.note("note: it looks again every \(every ?? "5s"): \(error.words)") }
                noted = error.message
            }
            do { try await Task.sleep(for: interval) } catch { break }
        }
    }

    /// Adds to the error what to do where a replica can't continue.
    private func advising<R>(_ session: Session, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch EvstoreError.epochChanged(let seen, let cut) {
            session.bar.finish()
            session.output.note(
                "note: the original has cut its log: make the replica anew, in another directory, or where this one is moved away")
            throw EvstoreError.epochChanged(seen: seen, cut: cut)
        }
    }

    private func write(_ report: FollowReport, _ replica: String, _ session: Session) throws {
        session.bar.finish()
        let object: Members = [
            "made": report.isMade, "new": report.isNew, "position": report.position, "epoch": report.epoch, "events": report.events,
            "backupTime": report.backupTime, "bytes": report.bytes, "seconds": report.duration,
        ]
        try session.output.print(object) {
            let position = "position \(grouped(report.position.rawValue))"
            let words =
                report.isMade
                ? "replica    \(replica) up to \(position); checked in full"
                : report.isNew
                    ? "followed   up to \(position), \(counted(report.events, "event")) taken in"
                    : "followed   up to \(position), nothing is new"
            "\(words); backup of \(report.backupTime)"
        }
    }
}

extension EvstoreError {
    /// Whether the error may be gone at the next attempt.
    fileprivate var mayPass: Bool {
        switch self {
        case .backupDamaged, .ioFailure, .locked, .deadlinePassed, .diskFull: true
        default: false
        }
    }
}
