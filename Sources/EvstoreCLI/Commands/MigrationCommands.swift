internal import ArgumentParser
internal import Evstore
internal import Migration

struct PlanCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "What a replay or a rollback would do, how long it would take and what it would lose. Changes nothing.",
        discussion: """
            Example: evstore plan --to v5 --schemas Schemas/shop
            Going back: evstore plan --to v4

            Below the live version it says what `evstore rollback --to` would do. Where the replay or the rollback \
            would be refused, it says why and exits with the code that it would exit with: 3 where events have no \
            image, 10 where it asks for --yes, 6 where it needs the application.
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to plan for.", valueName: "vN")) var to: String

    @Flag(help: "Exit with 4 where a replay, or a rollback, has something to do.") var exitCode = false

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.plan(to: store.version(named: to))
        }
        try session.output.print(report)
        if let refusal = report.refused.first { throw Exit(code: refusal.error.exit) }
        if exitCode && report.pending { throw Exit.pending }
    }
}

extension PlanReport: Report {
    var members: Members {
        [
            "from": from, "to": to, "events": events, "rebuild": rebuild, "ways": ways, "carry": carry, "loss": loss, "oneWay": oneWay,
            "seconds": duration, "bytes": bytes, "types": types, "refused": refused, "adoption": adoption, "needs": needs,
            "appendsRefused": appendsRefused.map { ["step": $0.step, "types": $0.types] as Members },
            "quarantined": quarantined, "notSeen": notSeen, "tail": tail, "bornAbove": bornAbove, "sample": sample, "rows": rows,
            "gone": gone, "rollback": rollback,
        ]
    }

    var lines: [String] {
        let steps = max(from, to).number - min(from, to).number
        "\(from) -> \(to)   \(counted(steps, "step"))" + (opClass.isEmpty || steps == 0 ? "" : ", class \(opClass)")
        typeLines
        if isRollback {
            "tail         \(counted(tail, "event")) since the flip, all kept; \(grouped(bornAbove)) born above \(to)"
        }
        "projections  " + projectionWords
        for way in ways { if let line = way.line { line } }
        for line in loss {
            if isRollback { "hidden       " + line.words(of: sample, all: bornAbove) } else { line.line }
        }
        if isRollback, bornAbove > 0, loss.isEmpty { "hidden       nothing of \(looked(of: bornAbove))" }
        if !gone.isEmpty { "not there    \(to) has no \(gone.joined(separator: ", "))" }
        if let adoption { "adopted      \(adoption.words) (of the sample)" }
        for step in oneWay { "one way      \(step) (needs --yes)" }
        for step in needs { "needs        \(step), which is written in Swift: run the application's own command line" }
        for refused in appendsRefused {
            let types = refused.types.joined(separator: ", ")
            "appends      once \(to) is live, a program without \(refused.step) can't append \(types) (needs --yes)"
        }
        if quarantined > 0 {
            let then = isRollback || !refused.isEmpty ? "" : ": the replay exits with 8"
            "quarantined  \(counted(quarantined, "event")) of read models that are kept\(then)"
        }
        if notSeen > 0 {
            "not seen     \(counted(notSeen, "event")) that may have no image: only the replay looks at them"
        }
        "estimate     " + estimate
        rollback.lines(isPlanned: isRollback)
        if isRollback { "forward      evstore replay --to \(from)" }
        for refusal in refused { "refused      \(refusal.error.words)" }
        "nothing was changed"
    }

    @TextLines private var typeLines: [String] {
        let names = types.map { $0.type + (isMixed ? " (\($0.born))" : "") }
        let (width, digits) = (names.map(\.count).max() ?? 0, types.map { grouped($0.count).count }.max() ?? 0)
        for (type, name) in zip(types, names) {
            "  \(name.padded(to: width))   \(grouped(type.count).aligned(to: digits)) \(type.count == 1 ? "event " : "events")   \(type.changes)"
                + (type.failures > 0 ? ", no image for \(grouped(type.failures)) of the sample" : "")
        }
        for (type, name) in zip(types, names) {
            if let opByOp = type.opByOp { "op by op     \(name): \(opByOp)" }
        }
    }

    private func looked(of all: UInt64) -> String {
        sample >= all ? counted(all, "event") : "\(grouped(sample)) of \(counted(all, "event")) that were looked at"
    }

    /// Whether a type has events of several birth versions, so that its lines must be told apart.
    private var isMixed: Bool { Set(types.map(\.type)).count < types.count }

    private var projectionWords: String {
        let all = rebuild.count + carry.count
        if all == 0 { return "none" }
        let names = rebuild.map { new.contains($0) ? $0 + "*" : $0 }.joined(separator: ", ")
        var words = rebuild.isEmpty ? "nothing to rebuild" : "rebuild \(rebuild.count) of \(all) (\(names))"
        let verb = carry.count == 1 ? "is" : "are"
        if !carry.isEmpty { words += "; \(carry.joined(separator: ", ")) \(verb) \(isRollback ? "there" : "unaffected, kept")" }
        return words + (new.isEmpty ? "" : "    * new")
    }

    private var estimate: String {
        let measured = sample > 0 && !isRollback ? " (measured on a sample of \(counted(sample, "event")))" : ""
        let mapped = ways.compactMap(\.rows).reduce(0, +)
        let what =
            isRollback
            ? "\(counted(events, "event")) to fold, \(counted(rows, "row")) there"
            : [events > 0 || mapped == 0 ? counted(events, "event") : nil, mapped > 0 ? counted(mapped, "row") : nil]
                .compactMap(\.self).joined(separator: " and ")
        return "\(what), about \(duration.inWords) and \(size(bytes: bytes)) of extra disk\(measured)"
    }
}

extension PlannedType: PrintableObject {
    var members: Members {
        [
            "type": type, "born": born, "count": count, "becomes": becomes, "changes": changes, "noImage": failures, "opByOp": opByOp,
        ]
    }
}

extension PlannedWay: PrintableObject {
    var members: Members { ["projection": projection, "rows": rows, "because": because] }

    fileprivate var line: String? {
        if let rows { return "from rows    \(projection): \(counted(rows, "row")) of the live version" }
        return because.map { "from events  \(projection): \($0)" }
    }
}

extension PlannedRefusal: PrintableObject {
    var members: Members { ["code": code, "exit": error.exit, "message": message, "fix": error.command] }
}

extension PlannedRollback: PrintableObject {
    var members: Members {
        [
            "to": to, "refused": refused, "without": without,
            "readsRefused": readsRefused.map { ["step": $0.step, "types": $0.types, "events": $0.events] as Members },
        ]
    }

    /// - Parameter isPlanned: whether this rollback is the plan itself, and not one that is possible after the planned replay.
    @TextLines
    fileprivate func lines(isPlanned: Bool) -> [String] {
        if !isPlanned {
            let words = to.map { refused == nil ? "possible until finalize, to \($0)" : "to \($0), and not as it is" }
            "rollback     " + [words ?? "not possible", refused?.error.words].compactMap(\.self).joined(separator: ": ")
        }
        if let to {
            if isPlanned, !without.isEmpty {
                "without      \(without.joined(separator: ", ")), in Swift, which this program does not have"
            }
            for reads in readsRefused {
                let now = reads.events == 0 ? "" : " (\(counted(reads.events, "event")) now)"
                "reads        at \(to) a program without \(reads.step) can't read \(reads.types.joined(separator: ", ")) born above it\(now): bring it the step first, or declare `down: shadow` before the version is released"
            }
        }
    }
}

extension PlannedLoss: PrintableObject {
    var members: Members {
        [
            "version": version, "type": type, "what": what, "declared": declared, "asks": asks, "count": count, "first": first,
        ]
    }

    fileprivate var line: String {
        let seen = count > 0 ? ", \(grouped(count)) in the sample" : ""
        return "loss         \(version) \(type): \(what) (\(standing)\(seen))"
    }

    /// The loss in words, for events born above an older version.
    /// - Parameters:
    ///   - sample: the number of events that were examined.
    ///   - all: the number of all such events.
    func words(of sample: UInt64, all: UInt64) -> String {
        let looked = sample >= all ? counted(count, "event") : "\(grouped(count)) of the \(grouped(sample)) events that were looked at"
        return "\(version) \(type): \(what), \(looked)\(declared ? " (declared)" : "")"
    }

    /// What a person has to do about the loss.
    var standing: String { declared ? "declared" : asks ? "not declared, needs --yes" : "told, not asked for" }
}

struct ReplayCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Builds the read models of a version beside the live ones, then makes it live at once.",
        discussion: """
            Services go on appending meanwhile. A replay that fails or is stopped leaves what is live \
            as it was; the versions that it has registered and its snapshot stay, for the next one. Until `evstore finalize`, `evstore rollback` goes back and keeps new events.

            Example: evstore replay --to v5 --schemas Schemas/shop
            First a rehearsal: evstore replay --to v5 --schemas Schemas/shop --dry-run
            Mend the rows of the live version: evstore replay --to v5 --from-events
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version, or a label of it.", valueName: "vN")) var to: String

    @Flag(help: "Do all of the work in a scratch directory and throw it away.") var dryRun = false

    @Option(help: ArgumentHelp("Build this projection only; do not flip.", valueName: "projection")) var only: String?

    @Flag(help: "Build every read model from its events, also those that would be kept or made from rows.") var fromEvents = false

    @Option(help: ArgumentHelp("Print this stream as the version sees it; build nothing.", valueName: "stream")) var stream: String?

    @Option(help: ArgumentHelp("Worker threads, 256 at most; one a processor where it is not given.", valueName: "n")) var jobs: Int?

    @Option(help: "What becomes of an event that has no image: stop or quarantine.", transform: oneOf)
    var onError: FailureRule = .stop

    @Flag(help: "Consent to one-way steps, to appends that plan says are refused, and to loss that no step declares.") var yes = false

    func validate() throws {
        if let jobs, jobs < 1 { throw ValidationError("--jobs is a number of threads from 1 on, not \(jobs)") }
        if stream != nil && only != nil { throw ValidationError("--stream and --only exclude each other") }
        if fromEvents && (stream != nil || only != nil) {
            throw ValidationError("--from-events builds all read models: it goes with neither --only nor --stream")
        }
    }

    func run(in session: Session) async throws {
        if let stream { return try await show(StreamName(stream), session) }
        for warning in try session.schemas()?.warnings ?? [] { session.output.note(warning.diagnosticLine) }
        let options = MigrationOptions(dryRun: dryRun, only: only, fromEvents: fromEvents, jobs: jobs, onError: onError, yes: yes)
        let report = try await session.withStore { store in
            try await store.migrate(
                to: store.version(named: to), options: options, progress: session.progress)
        }
        try session.output.print(report.members) { report.lines(options) }
        if report.quarantined > 0 { throw Exit.quarantined }
    }

    private func show(_ stream: StreamName, _ session: Session) async throws {
        let report = try await session.withStore { store in
            var lines = Lines(session)
            let version = try store.version(named: to)
            let report = try await store.maintenance.checkConversion(of: stream, at: version)
            if let failure = report.failures.first { throw EvstoreError.noImage(failure) }
            try store.read(stream, at: version, from: nil, limit: nil) { event in
                lines.next { try $0.put(store.line(event)) }
            }
            try lines.end()
            return report
        }
        session.output.note(
            "stream \(stream) at \(report.version): \(counted(report.events, "event")), \(grouped(report.converted)) of them not born there, "
                + "in \(report.duration.inWords); nothing was flipped")
    }
}

extension MigrationReport: PrintableObject {
    var members: Members {
        [
            "from": from, "to": to, "position": position, "events": events, "upcast": upcast, "rebuilt": rebuilt, "fromRows": fromRows,
            "rows": rows, "carried": carried, "quarantined": quarantined, "seconds": duration, "eventsPerSecond": eventsPerSecond,
            "flipPauseMilliseconds": flipPause.map { $0.inSeconds * 1_000 }, "digests": digests,
        ]
    }

    private var work: String {
        let (time, refused) = (duration.inWords, "\(grouped(quarantined)) quarantined")
        if !fromRows.isEmpty, fromRows.count == rebuilt.count { return "\(counted(rows, "row")) of \(from) in \(time)   \(refused)" }
        let more = rows > 0 ? ", and \(counted(rows, "row")) of \(from)" : ""
        return "\(counted(events, "event")), \(grouped(upcast)) of them not born at \(to)\(more), in \(time)   "
            + "\(rate(perSecond: eventsPerSecond))   \(refused)"
    }

    @TextLines
    func lines(_ options: MigrationOptions) -> [String] {
        if let snapshot { "snapshot   \(snapshot)" }
        if rebuilt.isEmpty {
            "replay     nothing to rebuild: "
                + (carried.isEmpty ? "\(to) has no read models" : "\(carried.joined(separator: ", ")) kept")
            if quarantined > 0 { "quarantined \(counted(quarantined, "event")), which they lack: evstore quarantine list --at \(to)" }
        } else {
            "replay     " + work
            let folded = rebuilt.filter { !fromRows.contains($0) }
            let parts = [
                fromRows.isEmpty ? "" : "from rows of \(from): \(fromRows.joined(separator: ", "))",
                folded.isEmpty ? "" : (fromRows.isEmpty ? "" : "from events: ") + folded.joined(separator: ", "),
                carried.isEmpty ? "" : "kept \(carried.joined(separator: ", "))",
            ]
            "built      " + parts.filter { !$0.isEmpty }.joined(separator: "; ")
        }
        if options.dryRun {
            "nothing was changed"
        } else if options.only != nil {
            "no flip    one projection was built; \(from) is live"
        } else if let pause = flipPause {
            let meanwhile = arrived > 0 ? "\(counted(arrived, "event")) arrived meanwhile; " : ""
            "flip       \(to) is live at position \(grouped(position.rawValue)) (\(meanwhile)writers waited \(pause.inWords))"
            // A repeated replay of the live version opens no window; `status` says to which version a rollback leads.
            if to > from {
                "window     open: `evstore rollback` returns to \(from) and keeps new events; `evstore finalize \(to)` closes it"
            }
        } else {
            "\(to) is live already"
        }
    }
}

struct RollbackCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "rollback",
        abstract: "Goes back to the version before the flip, keeping every event.",
        discussion: """
            What was appended since the flip stays, and the older version sees it through the steps \
            down. To a snapshot is another matter: the log is cut there, what comes after moves to \
            the store's archive, and --discard-tail says that this is meant. So it does where no event came \
            after it, but a finalize did. On a node of a cluster log every node cuts and archives so, and goes \
            down to the snapshot's version; a second cut to one snapshot there needs --epoch.

            --plan says beforehand what it would keep, what the older version does not show, how long it takes, what it would \
            be refused for and who could not read any more, and changes nothing.

            Example: evstore rollback --plan
            Example: evstore rollback
            Example: evstore rollback --to-snapshot before-v5 --discard-tail
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version; the one the last replay came from where it is not given.", valueName: "vN"))
    var to: String?

    @Flag(help: "Say what it would do, and change nothing.") var plan = false

    @Option(help: ArgumentHelp("Leave this Swift projection behind until its program opens the store.", valueName: "projection"))
    var without: [String] = []

    @Option(help: ArgumentHelp("Cut the log where this snapshot was taken.", valueName: "name")) var toSnapshot: String?

    @Flag(help: "Consent to undoing what came after the snapshot: events go to the archive.") var discardTail = false

    @Option(help: ArgumentHelp("Consent only while the log is in this epoch; status --json has it.", valueName: "number"))
    var epoch: UInt32?

    func validate() throws {
        if toSnapshot != nil && (to != nil || !without.isEmpty) {
            throw ValidationError("--to-snapshot excludes --to and --without")
        }
        if plan && toSnapshot != nil { throw ValidationError("--plan is of a rollback that keeps every event, without --to-snapshot") }
        if discardTail && toSnapshot == nil { throw ValidationError("--discard-tail belongs to --to-snapshot NAME") }
        if epoch != nil && !discardTail { throw ValidationError("--epoch belongs to --discard-tail") }
    }

    func run(in session: Session) async throws {
        if plan { return try await showPlan(session) }
        let report = try await session.withStore { store in
            if let toSnapshot { return try await cut(store, to: toSnapshot, session) }
            return try await store.rollback(to: store.version(ifNamed: to), without: Set(without), progress: session.progress)
        }
        try session.output.print(report)
        if !report.differing.isEmpty { throw Exit.integrity }
    }

    private func cut(_ store: EventStore, to snapshot: String, _ session: Session) async throws -> RollbackReport {
        do {
            return try await store.rollback(
                toSnapshot: snapshot, discardTail: discardTail, epoch: epoch.map { Epoch($0) }, progress: session.progress)
        } catch {
            if case .epochChanged = error {
                session.output.note(
                    "note: the snapshot \(snapshot) can't be gone back to, since that cut took off what it names: "
                        + "evstore snapshot list marks such snapshots")
            }
            throw error
        }
    }

    private func showPlan(_ session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.planRollback(to: store.version(ifNamed: to), without: Set(without))
        }
        try session.output.print(report)
        if let refusal = report.refused.first { throw Exit(code: refusal.error.exit) }
    }
}

extension RollbackReport: Report {
    var members: Members {
        [
            "from": from, "to": to, "tail": tail, "seconds": duration, "loss": loss, "bornAbove": bornAbove, "sample": sample,
            "rebuilt": rebuilt, "without": without, "floor": floor, "nodes": nodes, "differing": differing, "forgotten": forgotten,
        ]
    }

    var lines: [String] {
        if let archive {
            "cut        after position \(grouped(position.rawValue)); \(counted(tail, "event")) moved to \(archive)"
            "live       \(to), in \(duration.inWords)"
            "again      evstore import \(archive.shellWord) --as \(from) brings them back"
                + (from > to ? ", after evstore replay --to \(from)" : "")
        } else if from == to && floor == nil && nodes.isEmpty {
            "nothing    \(to) is live already, at position \(grouped(position.rawValue))"
        } else if from == to {
            "live       \(to), as before, at position \(grouped(position.rawValue))"
        } else {
            "rollback   \(from) -> \(to) at position \(grouped(position.rawValue)), keeping \(counted(tail, "event")) appended since, in \(duration.inWords)"
            for line in loss ?? [] { "hidden     " + line.words(of: sample, all: bornAbove) }
            if loss == nil { "hidden     not known: see evstore journal and the notes" }
            "forward    evstore replay --to \(from)"
        }
        if let floor { "floor      \(floor), as before the finalize" }
        if !nodes.isEmpty { "nodes      \(nodes.joined(separator: ", ")) at \(to) once they have followed" }
        if !rebuilt.isEmpty { "built      \(rebuilt.joined(separator: ", "))" }
        if !without.isEmpty { "without    \(without.joined(separator: ", ")), until their program opens the store" }
        if !forgotten.isEmpty {
            "differs    \(forgotten.joined(separator: ", ")): personal data was forgotten since the snapshot"
        }
        if !differing.isEmpty {
            "DIFFERENT  \(differing.joined(separator: ", ")): not as the snapshot noted; see evstore verify --deep"
        }
    }
}

struct FinalizeCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "finalize",
        abstract: "Makes the live version the oldest one promised: the way back is closed.",
        discussion: """
            Read models that no promised version needs are deleted; events never are. Consumers that see events at an older version would be \
            left behind: they are named, and nothing is done without --leave-consumers. In a cluster every node has to be at the version; one \
            that is gone is taken out by --without-node, and has to join anew.

            Example: evstore finalize v5
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("The live version, said again to be sure.", valueName: "vN")) var version: String

    @Flag(help: "Leave consumers behind that see events at an older version: they end with an error.") var leaveConsumers = false

    @Option(help: ArgumentHelp("A node of the cluster log that is gone; may be given several times.", valueName: "node"))
    var withoutNode: [String] = []

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.finalize(store.version(named: version), leavingConsumers: leaveConsumers, withoutNodes: withoutNode)
        }
        try session.output.print(["floor": report.floor, "top": report.top]) {
            let window = report.top > report.floor ? "open up to \(report.top), where another node works" : "closed"
            "floor      \(report.floor); the window is \(window), \(counted(report.pruned, "read model")) deleted that no version needs"
        }
    }
}
