internal import ArgumentParser
internal import Evstore
internal import Migration

struct RollbackCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "rollback",
        abstract: "Goes back to the version before the flip, keeping every event.",
        discussion: """
            What was appended since the flip stays, and the older version sees it through the steps \
            down. To a snapshot is another matter: the log is cut there, what comes after moves to \
            the store's archive, and --discard-tail says that this is meant. On a node of a cluster \
            log every node cuts and archives so; a second cut to one snapshot there needs --epoch.

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

    @Flag(help: "Consent to moving what came after the snapshot to the archive.") var discardTail = false

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
            if let toSnapshot {
                return try await store.rollback(
                    toSnapshot: toSnapshot, discardTail: discardTail, epoch: epoch.map { Epoch($0) }, progress: session.progress)
            }
            return try await store.rollback(to: store.version(ifNamed: to), without: Set(without), progress: session.progress)
        }
        try session.output.print(report)
        if !report.differing.isEmpty { throw Exit.integrity }
    }
}

extension RollbackCommand {
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
            "rebuilt": rebuilt, "without": without, "differing": differing, "forgotten": forgotten,
        ]
    }

    var lines: [String] {
        if let archive {
            "cut        after position \(grouped(position.rawValue)); \(counted(tail, "event")) moved to \(archive)"
            "live       \(to), in \(duration.inWords)"
            "again      evstore import \(archive.shellWord) --as \(from) brings them back"
        } else if from == to {
            "nothing    \(to) is live already, at position \(grouped(position.rawValue))"
        } else {
            "rollback   \(from) -> \(to) at position \(grouped(position.rawValue)), keeping \(counted(tail, "event")) appended since, in \(duration.inWords)"
            for line in loss ?? [] { "hidden     " + line.words(of: sample, all: bornAbove) }
            if loss == nil { "hidden     not known: see evstore journal and the notes" }
            "forward    evstore replay --to \(from)"
        }
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
