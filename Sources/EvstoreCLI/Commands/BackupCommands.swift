internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import Platform

struct BackupCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the store to a directory, or to standard output.",
        discussion: """
            Into a directory, each run adds what came since the one before; runs share their blocks. \
            What was written is read again. To - goes one whole backup, for a pipe to another machine. \
            The store can be in use; read models are not copied, since they are made from the events.

            --list prints a directory's runs, which `restore --run` takes by their numbers; --verify reads \
            their files again as well and says which can't be restored. Both need no store, no keys and \
            no room.

            Example: evstore backup /mnt/other/orders --keep 14
            Over a pipe: evstore backup - | ssh other 'cat > orders.evf'
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A directory for the backups of this store alone, or -.", valueName: "dir|-")) var target: String
    @Option(help: ArgumentHelp("Forget all runs but the newest ones.", valueName: "n")) var keep: Int?

    @Flag(help: "Print the runs of the directory, oldest first.") var list = false
    @Flag(help: "Read every file of the directory's runs again; exit with 7 where one is damaged.") var verify = false

    func validate() throws {
        if list && verify { throw ValidationError("--verify prints the runs that --list does: say one of them") }
        if (list || verify) && keep != nil { throw ValidationError("--keep is for making a backup") }
        if (list || verify) && target == "-" { throw ValidationError("--list and --verify are for a directory of backups") }
        if let keep, keep < 1 { throw ValidationError("--keep is 1 or more: a backup that was just made is never forgotten") }
        if target == "-" && keep != nil { throw ValidationError("--keep is for a directory: nothing is known of what went through a pipe") }
    }

    func run(in session: Session) async throws {
        if target == "-" && session.output.resultsOnTerminal {
            throw EvstoreError.usage("a backup is not for a terminal: evstore backup - > FILE, or | a program")
        }
        if list { return try StoreMaintenance.backups(in: target).forEach { try $0.write($0.damage, to: session.output) } }
        if verify { return try await check(session) }
        let report = try await session.withStore(.reading) { store in
            if target != "-" {
                return try await store.maintenance.backUp(into: target, keeping: keep, progress: session.progress)
            }
            return try await store.maintenance.backUp(progress: session.progress) { try session.output.put(raw: $0) }
        }
        // Standard output may be the backup itself.
        let isAside = target == "-"
        let object: Members = [
            "position": report.position, "content": report.content, "bytes": report.bytes, "seconds": report.duration,
        ]
        try session.output.print(object, isAside: isAside) {
            let forgotten = report.pruned == 0 ? "" : ", \(counted(report.pruned, "older run")) forgotten"
            let done = isAside ? "written" : "written and read again"
            "backup     up to position \(grouped(report.position.rawValue)), \(size(bytes: report.bytes)) \(done)\(forgotten)"
        }
    }

    private func check(_ session: Session) async throws {
        let verdicts = try await StoreMaintenance.verifyBackups(in: target, progress: session.progress)
        session.bar.finish()
        if verdicts.isEmpty {
            session.output.note("note: there is no run yet: \(Advice.Call.backUp(into: target).command) makes one")
        }
        for verdict in verdicts { try verdict.run.write(verdict.damage ?? "ok", to: session.output) }
        if verdicts.contains(where: { $0.damage != nil }) { throw Exit.integrity }
    }
}

extension BackupRun {
    /// - Parameter verdict: the run's damage, or "ok"; nil where it was not checked.
    fileprivate func write(_ verdict: String?, to output: Output) throws {
        let known = damage == nil ? self : nil
        let object: Members = [
            "number": number, "time": known?.time, "position": known?.position, "epoch": known?.epoch, "content": known?.content,
            "bytes": known?.bytes, "verdict": verdict,
        ]
        try output.print(object) {
            [
                "run \(number)".padded(to: 8), known?.time.description,
                known.map { "at \(grouped($0.position.rawValue).aligned(to: 13))" }, known.map { size(bytes: $0.bytes) },
                known.flatMap { $0.epoch > .first ? "epoch \($0.epoch)" : nil }, verdict,
            ].compactMap(\.self).joined(separator: "   ")
        }
    }
}

struct RestoreCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store from a backup, up to any position or time.",
        discussion: """
            Every frame, block, link and index is checked before the store appears at --into; it is \
            there whole or not at all. An append is restored whole or not at all, too: within one, --to \
            ends the store before it, and a note and "leftOut" say so. Read models are built when they are asked for, or by `replay`. \
            The restored store is in a new epoch: readers that had seen more are told, and begin anew.

            Example: evstore restore /mnt/other/orders --into orders.restored
            An older run, as `evstore backup DIR --list` numbers them: evstore restore DIR --run 3 --into before
            Before a mistake: evstore restore /mnt/other/orders --into before --to 2026-11-20T14:00:00Z
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A backup's directory (its newest run), a file, or -.", valueName: "dir|file|-")) var source: String
    @Option(name: .customLong("run"), help: ArgumentHelp("Which run of the directory; the newest where it is not given.", valueName: "n"))
    var number: UInt64?
    @Option(help: ArgumentHelp("Where the store is made: nothing is there, or an empty directory.", valueName: "dir")) var into: String
    @Option(help: ArgumentHelp("The last position, or the time of the last commit (RFC 3339).", valueName: "position|time"))
    var to: String?

    func run(in session: Session) async throws {
        let target = try to.map { text in
            guard let target = RestoreTarget(text) else {
                throw EvstoreError.usage("--to \(quoted(text)) is neither a position nor a time such as 2026-11-20T14:00:00Z")
            }
            return target
        }
        let report: RestoreReport
        if Input.isFile(source) {
            if number != nil { throw EvstoreError.usage("--run is for a directory of backups: \(source) is one backup") }
            let input = try Input.pieces(source, session.interrupts)
            report = try await StoreMaintenance.restore(
                named: source == "-" ? "on standard input" : source, into: into, to: target, options: session.options(),
                progress: session.progress, from: input)
        } else {
            report = try await StoreMaintenance.restore(
                from: source, run: number, into: into, to: target, options: session.options(),
                progress: session.progress)
        }
        session.bar.finish()
        let object: Members = [
            "position": report.position, "content": report.content, "bytes": report.bytes, "seconds": report.duration,
            "leftOut": report.leftOut.map { ["from": $0.lowerBound, "to": $0.upperBound] as Members },
        ]
        try session.output.print(object) {
            let left = report.backupPosition.events(after: report.position)
            let rest = left == 0 ? "" : ", \(counted(left, "event")) of the backup left out"
            "restored   \(into) up to position \(grouped(report.position.rawValue))\(rest); checked in full"
        }
        if let append = report.leftOut, case .position(let position) = target {
            session.output.note(
                "note: position \(grouped(position.rawValue)) lies within one append, \(grouped(append.lowerBound)) to "
                    + "\(grouped(append.upperBound)), which is restored whole or not at all: --to \(append.upperBound) takes it in")
        }
    }
}

struct SalvageCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Makes a store of what a damaged one still holds.",
        discussion: """
            For a store that does not open, when no backup is near. It reads the files without \
            opening them and changes nothing there: keep them. It looks for the log's blocks by their \
            checksums and takes those that later ones link to. The new store appears at --into, \
            checked, whole or not at all; read models are built when they are asked for.

            Nothing missing: the new store goes on as the old one. Positions missing between others: \
            they are reported, and the rest is appended anew with new positions and a new store id; so it \
            is where a person's slot holds another key than the one an event was sealed under. A stream \
            whose name is lost is called lost:<position of its first event>. Where the key of a stream's \
            personal data is damaged, its events come without that data. What nobody can say was \
            committed comes to unconfirmed.jsonl in the new store, as lines that import takes.

            --store may also name a data.mdb that lies alone. --schemas is asked for where the store \
            has lost its version files too. Exit codes: 0 nothing is known to be lost, 8 something is \
            lost or in doubt, 7 no event was found.

            Example: evstore --store orders salvage --into orders.salvaged
            Before:  evstore --store orders verify      what is wrong, and what would come back
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("Where the new store is made: nothing is there, or an empty directory.", valueName: "dir")) var into: String

    func run(in session: Session) async throws {
        let report = try await StoreMaintenance.salvage(
            session.global.storePath(), into: into, schemas: session.schemas(), options: session.options(),
            progress: session.progress)
        session.bar.finish()
        try session.output.print(report.members) { lines(report) }
        if !report.isComplete { throw Exit.quarantined }
    }

    @TextLines
    private func lines(_ report: SalvageReport) -> [String] {
        "salvaged   \(into): \(counted(report.events, "event")), \(size(bytes: report.bytesScanned)) looked through; checked in full"
        shown("lost", report.gaps.map { "positions \(grouped($0.lowerBound)) to \(grouped($0.upperBound))" }, "range")
        if report.renumbered { "renumbered the events have new positions, and the store a new id" }
        shown("unnamed", report.lostNames, "stream")
        shown("key lost", report.lostKeys.map { "\($0.stream): \(counted($0.events, "event")) without what was personal" }, "stream")
        if report.unopened > 0 {
            let keys = report.dataKeys.map { "\($0)" }.joined(separator: ", ")
            let under = report.dataKeys.isEmpty ? "" : ": sealed under data keys that the store does not have (\(keys))"
            "unopened   \(counted(report.unopened, "event"))\(under)"
        }
        if report.unconfirmed > 0 {
            "in doubt   \(counted(report.unconfirmed, "event")): see \(into)/\(SalvageReport.unconfirmedName)"
        }
        if !report.lostRows.isEmpty {
            "rows       the newest ones may be missing of: \(report.lostRows.joined(separator: ", "))"
        }
        if !report.endKnown {
            "in doubt   nothing tells which commit was the newest: it may have cut events off, or added some"
        }
        if report.isComplete { "nothing is known to be lost" }
    }

    /// The first of what was lost, and how many more there are.
    @TextLines
    private func shown(_ what: String, _ all: [String], _ noun: String) -> [String] {
        let linesMax = 20
        for one in all.prefix(linesMax) { "\(what.padded(to: 10)) \(one)" }
        if all.count > linesMax { "\(what.padded(to: 10)) and \(counted(all.count - linesMax, noun)) more: see --json" }
    }
}

extension SalvageReport {
    fileprivate var members: Members {
        [
            "position": position, "events": events, "gaps": gaps.map { [$0.lowerBound, $0.upperBound] }, "unconfirmed": unconfirmed,
            "lostNames": lostNames, "lostRows": lostRows, "endKnown": endKnown, "renumbered": renumbered,
            "lostKeys": lostKeys.map { ["stream": $0.stream, "events": $0.events] as Members }, "unopened": unopened,
            "dataKeys": dataKeys, "bytesScanned": bytesScanned, "seconds": duration,
        ]
    }
}

struct FollowCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Keeps a replica of another store by its backups: a warm standby.",
        discussion: """
            The first time it makes the replica at --store, where nothing may be yet; afterwards it takes in what newer backups have. All of it \
            is checked first, and a replica that is killed meanwhile is what its original was at some time. It can be read, queried, verified \
            and exported, by others too; it takes no appends and no migrations until `evstore promote`.

            It looks again every --every, until ^C or SIGTERM ends it with 0, and says nothing when nothing is new. What may pass, such as a \
            directory that is being copied, or is not there yet, is a note, and tried again. From - comes one whole backup, as from a file; then it ends.

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
        if let every, interval == nil { throw ValidationError("\(quoted(every)) of --every is no time such as 500ms, 5s or 2m") }
    }

    private var interval: Duration? {
        every.map { Duration($0, units: ["ms": .milliseconds(1), "s": .seconds(1), "m": .seconds(60)]) } ?? .seconds(5)
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
        guard let interval else { return }
        session.interrupts.areTheNormalEnd()
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
            } catch let error as EvstoreError where error.mayPass || error.code == "usage" && isAway {
                session.bar.finish()
                if error.message != noted { session.output.note("note: it looks again every \(every ?? "5s"): \(error.words)") }
                noted = error.message
            } catch let error as UnprintedResult {
                session.output.note("note: \(error.report.message)")
            }
            do { try await Task.sleep(for: interval) } catch { break }
        }
    }

    /// Whether the directory of backups is not there yet, or not for the moment: a file system is not mounted, or a copy is being made.
    private var isAway: Bool {
        let parts = ["blocks", "rows", "forgotten", "lock", "lost+found"]
        do { return try Directory.status(from) == nil || Directory.names(from).allSatisfy(parts.contains) } catch { return true }
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

struct PromoteCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Makes a replica a store of its own, which is written from then on.",
        discussion: """
            It begins a new epoch, since its original may go on with other events: make sure that nobody writes to that any more. What the \
            original has appended since the backup that it says is not there. Whoever has the replica open goes on, and can append.

            Example: evstore --store standby promote
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in try await store.maintenance.promote() }
        let age = max(Timestamp.now.seconds(since: report.backupTime), 0)
        let object: Members = [
            "position": report.position, "epoch": report.epoch, "backupTime": report.backupTime, "ageSeconds": age,
        ]
        try session.output.print(object) {
            "promoted   at position \(grouped(report.position.rawValue)), in epoch \(report.epoch); "
                + "as of the backup of \(report.backupTime), \(counted(nearest(age), "second")) ago"
        }
    }
}
