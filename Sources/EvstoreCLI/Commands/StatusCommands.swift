internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import LogKeeping
internal import Migration

struct StatusCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "What the store holds and whether it is well.",
        discussion: """
            Shows the four versions, how many events were born at each, the read models and how far \
            they lag, what is quarantined, the snapshots that can be gone back to, and the room on the \
            disk with the ballast that is kept for the commands which lead out of a full one. Changes nothing.

            Example: evstore --store shop status
            In a deployment: evstore status --expect v5 || evstore replay --to v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("Exit with 4 and one line where another version is live.", valueName: "vN"))
    var expect: String?

    @Flag(
        help: """
            Exit with 1 where something does not work, with 4 where a newer version waits to be made live or somebody has something else to \
            do, with 8 where events are parked or in quarantine.
            """)
    var exitCode = false

    func run(in session: Session) async throws {
        try await session.withStore(.reading) { store in
            let report = try store.status()
            let expected = try expect.map { try Self.version($0, in: store) }
            let isAnother = expected.map { $0 != report.versions.live } ?? false
            let pending = try pending(report, schemas: session.schemas())
            try session.output.print(report.members + ["pending": pending]) {
                if isAnother, let expected {
                    "\(report.versions.live) is live, not \(expected)"
                } else {
                    report.lines(path: store.path, pending: pending)
                }
            }
            if isAnother { throw Exit.pending }
            if exitCode, let gravest = report.gravest(pending: pending != nil) { throw gravest.exit }
        }
    }

    /// A number is a version whether or not the store knows it yet; a label must be known.
    private static func version(_ text: String, in store: EventStore) throws(EvstoreError) -> SchemaVersion {
        let digits = text.hasPrefix("v") ? text.dropFirst() : text[...]
        if let number = UInt32(digits) { return SchemaVersion(number) }
        return try store.version(named: text)
    }

    /// The work that remains, as a clause with the command for it; nil where there is none.
    private func pending(_ report: StatusReport, schemas: Schemas?) -> String? {
        let (live, head) = (report.versions.live, report.versions.head)
        let newest = max(head, schemas?.head ?? head)
        // What the store does not know yet, the replay has to be told again.
        let brought = newest > head ? global.schemas.map { " --schemas \($0.shellWord)" } ?? "" : ""
        let way = report.replica == nil ? "evstore replay --to \(newest)\(brought)" : "the original is to replay it"
        return newest > live ? "\(newest) is there and \(live) is live: \(way)" : nil
    }
}

extension StatusReport: PrintableObject {
    /// The gravest weight; nil where all is well.
    func gravest(pending isPending: Bool) -> Complaint.Weight? {
        (complaints.map(\.weight) + (isPending ? [.waiting] : [])).min()
    }

    var members: Members {
        [
            "floor": versions.floor, "live": versions.live, "top": versions.top, "head": versions.head, "position": position,
            "epoch": versions.epoch, "births": Members(births.map { (name: String($0.version.rawValue), value: $0.count) }),
            "types": types.map { ["type": $0.type, "born": $0.born, "count": $0.count] as Members },
            "projections": projections, "window": window, "snapshots": snapshots,
            "lastDrill": lastDrill.map { ["time": $0.time, "passed": $0.passed] as Members },
            "healthy": healthy, "freeBytes": freeBytes, "ballastBytes": ballastBytes,
            "cluster": cluster.map { ["log": $0.log, "node": $0.node, "frames": $0.frames] as Members },
            "replica": replica.map { ["source": $0.source, "backupTime": $0.backupTime] as Members },
            "complaints": complaints.map { ["code": $0.code, "message": $0.message, "fix": $0.advice.command] as Members },
            "quarantined": quarantined, "passingPlace": passingPlace,
        ]
    }

    private var windowWords: String {
        if !window { return "closed" }
        if replica != nil { return "open, as the original had it" }
        let back = versions.live > versions.floor ? ["`evstore rollback` goes back"] : []
        let forward = versions.live < versions.top ? ["`evstore replay --to \(versions.top)` goes forward"] : []
        // Another node may work at the top.
        let closed = cluster == nil ? versions.live : versions.top
        let everywhere = cluster == nil ? "" : " once every node is there"
        return "open: " + (back + forward + ["`evstore finalize \(closed)` closes it" + everywhere]).joined(separator: ", ")
    }

    @TextLines
    func lines(path: String, pending: String?) -> [String] {
        "store        \(path)" + (versions.epoch > .first ? "   epoch \(versions.epoch)" : "")
        if let key = writingKey { "sealed       \(key.suite?.rawValue ?? ""), data key \(key.id)" }
        if let replica { "replica      \(replica.words), as of \(replica.backupTime)" }
        if let cluster { "cluster      node \(cluster.node) of \(cluster.log), \(grouped(cluster.frames)) frames" }
        "versions     floor \(versions.floor)   live \(versions.live)   top \(versions.top)   head \(versions.head)"
        let events = types.sum(\.count)
        "events       \(grouped(events)), the last at position \(grouped(position.rawValue))"
        for (version, count) in births {
            "  born at \(version.description.padded(to: 4)) \(grouped(count).aligned(to: 13))"
        }
        "projections  at \(versions.live)" + (projections.isEmpty ? ": none" : "")
        let width = projections.map(\.name.count).max() ?? 0
        for projection in projections { "  " + projection.words(width: width) }
        "window       \(windowWords)"
        "snapshots    " + (snapshots.isEmpty ? "none" : snapshots.joined(separator: ", "))
        "last drill   " + (lastDrill.map { "\($0.time) \($0.passed ? "passed" : "FAILED")" } ?? "never")
        if let oldestReader {
            "readers      the oldest is process \(oldestReader.process), \(counted(oldestReader.commitsBehind, "commit")) behind"
        }
        let ballast = ballastBytes == 0 ? "no ballast" : "\(size(bytes: ballastBytes)) of ballast"
        "disk         \(size(bytes: freeBytes)) free, \(ballast)"
        if let passingPlace { "place        \(passingPlace)" }
        if let pending { "pending      \(pending)" }
        if healthy { "health       good" }
        for complaint in complaints { "health       \(complaint.message): \(complaint.advice.command)" }
    }
}

extension Complaint.Weight {
    fileprivate var exit: Exit {
        switch self {
        case .failing: .failing
        case .waiting: .pending
        case .leftOut: .quarantined
        }
    }
}

extension ProjectionStatus: PrintableObject {
    var members: Members {
        [
            "name": name, "version": version, "fingerprint": fingerprint, "checkpoint": checkpoint?.position, "rows": rows,
            "digest": digest, "quarantined": quarantined,
        ]
    }

    func words(width: Int) -> String {
        guard let checkpoint else { return name.padded(to: width) + "   not built" }
        var parts = ["\(counted(rows, "row").aligned(to: 16))   at \(grouped(checkpoint.position.rawValue))"]
        if lag > 0 { parts.append("\(grouped(lag)) behind") }
        if quarantined > 0 { parts.append("\(grouped(quarantined)) quarantined") }
        if let digest { parts.append(digest.prefix(8) + "…") }
        return name.padded(to: width) + parts.joined(separator: "   ")
    }
}

extension ReplicaPlace {
    fileprivate var words: String { source.isEmpty ? "of backups through a pipe" : "of the backups in \(source)" }
}

struct VerifyCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks the log, its hash chain and its indexes.",
        discussion: """
            --deep also computes the digests of the read models anew; --laws also proves the steps, \
            up and down, on the whole log, on events made from the shapes and on changed events of \
            the log, and lists what no event went through. Lossy is what did not come back as it was \
            where a step declares that it may, or a value was not in its codec's own form. Changes \
            nothing; a store in use can be verified. One that does not open is examined without \
            opening it: what is damaged, and how many events `salvage` would take out.

            The hash chain finds a change, but not one by somebody who makes the whole chain anew. \
            --sign prints the log's end, and the versions, definitions, keys and ledger beside it, signed by your \
            key: one line, to be kept where the store's users can't reach it, as the key is. --since takes \
            such a line and shows that all of it is as it was, or says what is not: altered, taken off the \
            end, cut, an older copy, another store. What came after is not vouched for: sign again. A file \
            of several lines, oldest first, is a series: each names the one before it, as does what --sign \
            prints beside --since.

            Example: evstore verify --deep --laws
            A key:   (umask 077; openssl genpkey -algorithm ed25519 -out head.key)
            Sign:    evstore verify --sign head.key > heads.jsonl
            Again:   evstore verify --since heads.jsonl --sign head.key >> heads.jsonl
            Later:   evstore verify --since heads.jsonl --trust head.key.pub
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Flag(help: "Also the read models, row by row.") var deep = false
    @Flag(help: "Also the laws of the steps, on the events of the log and on made ones.") var laws = false
    @Option(help: ArgumentHelp("Make the same events as the run that printed it.", valueName: "n")) var seed: UInt64?
    @Option(
        help: ArgumentHelp(
            "Print the log's end signed by this Ed25519 key (PEM of openssl, or 64 hex digits; 0600), if nothing is wrong.",
            valueName: "keyfile"))
    var sign: String?
    @Option(
        help: ArgumentHelp("Also show that what was signed before, a head or a series of them, is still so.", valueName: "signed"))
    var since: String?
    @Option(
        help: ArgumentHelp(
            "With --since: whose signature it must be (PEM or 64 hex digits); the owner of --sign's key where not given.",
            valueName: "keyfile.pub"))
    var trust: String?
    @Flag(help: "With --since and --sign: a cut, or a changed definition, that --since tells of was meant.") var accept = false
    @Flag(help: "A warning, or an op that no event went through, is a failure too.") var strict = false

    func validate() throws {
        if trust != nil && since == nil { throw ValidationError("--trust says who must have signed what --since names") }
        if accept && (since == nil || sign == nil) { throw ValidationError("--accept says with --sign that what --since tells was meant") }
    }

    func run(in session: Session) async throws {
        let key = try sign.map { try SigningKey(file: $0) }
        let trusted = try trust.map { try PublicKey(file: $0) }
        let heads = try since.map { path in
            try SignedHead.series(parsing: Input.all(path, atMost: SignedHead.seriesBytesMax, session.interrupts))
        }
        let report: VerifyReport
        let quarantined: Int
        do {
            (report, quarantined) = try await session.withStore(.reading) { store in
                let report = try await store.maintenance.verify(
                    deep: deep, laws: laws, seed: seed, signing: key, since: heads ?? [], trusting: trusted, accepting: accept,
                    progress: session.progress)
                return try (report, Set(store.quarantine().map(\.position)).count)
            }
        } catch let error as EvstoreError { return try await examine(after: error, session) }
        let checked =
            "\(counted(report.events, "event")): structure, checksums, hash chain, indexes" + (deep ? ", read models" : "")
            + (laws ? ", laws" : "")
        let isAside = isAside(session)
        if isAside, let head = report.head { try session.output.line(head.line) }
        let outcome = outcome(of: report, quarantined: quarantined)
        if outcome == .quarantined {
            session.output.note("note: \(counted(quarantined, "event")) quarantined; see: evstore quarantine list")
        }
        let check = CheckReport(
            report.findings, checked: checked, outcome: outcome, extra: report.members + ["quarantined": quarantined], before: report.lines)
        try check.end(session.output, isAside: isAside)
    }

    private func outcome(of report: VerifyReport, quarantined: Int) -> Exit? {
        let errors = report.findings.filter { $0.severity == .error }
        // These findings are not damage: a failed law shows a wrong step; a cut comes from a rollback or a restore, a definition from a
        // replay. The bytes are as they were written.
        if !errors.allSatisfy({ $0.id.hasPrefix("LAW") || SignedHead.acceptable.contains($0.id) }) { return .integrity }
        let isStrict = report.findings.allSatisfy { $0.severity == .note } && report.notExercised.isEmpty
        if !errors.isEmpty || strict && !isStrict { return .refused }
        return quarantined > 0 ? .quarantined : nil
    }

    /// Whether standard output is the signed head alone, and everything else goes to standard error.
    private func isAside(_ session: Session) -> Bool { sign != nil && !session.output.json }

    /// Examines a store that does not open, if the error suggests that.
    private func examine(after error: EvstoreError, _ session: Session) async throws {
        switch error {
        case .storeDamaged, .corruptBlock, .notAStore: break
        default: throw error
        }
        var report: VerifyReport
        do {
            report = try await StoreMaintenance.examine(
                session.global.storePath(), progress: session.progress)
        } catch EvstoreError.notAStore { throw error }
        session.bar.finish()
        report.findings.insert(Finding(id: "STORE021", message: error.message, fix: error.command), at: 0)
        let check = CheckReport(
            report.findings, checked: "the store does not open and was looked at from outside", outcome: .integrity,
            extra: report.members + ["quarantined": nil as Int?])
        try check.end(session.output, isAside: isAside(session))
    }
}

extension VerifyReport {
    fileprivate var members: Members {
        let counts: Members = [
            "log": cases.log, "adopted": cases.adopted, "generated": cases.generated, "mutated": cases.mutated,
            "refused": cases.refused, "replayed": cases.replayed,
        ]
        return [
            "laws": laws, "loss": loss, "cases": laws.isEmpty ? nil : counts,
            "exercised": exercised.map { ["version": $0.version.description, "op": $0.op, "up": $0.up, "down": $0.down] as Members },
            "notExercised": notExercised, "seed": seed, "head": head.map { CheckedJSON(text: Array($0.line.utf8)) },
            "since": since.map {
                [
                    "position": $0.position, "epoch": $0.epoch, "time": $0.time, "key": $0.key.description, "trusted": $0.isTrusted,
                    "holds": $0.holds, "heads": $0.heads,
                ] as Members
            },
        ]
    }

    @TextLines fileprivate var lines: [String] {
        for law in laws {
            let what = ["L6", "L7"].contains(law.law) ? "read models" : "events"
            let lossy = law.lossy == 0 ? "" : ", \(grouped(law.lossy)) lossy"
            let count = law.tried == 0 ? "NOT EXERCISED" : "\(grouped(law.tried)) \(what)\(lossy), \(grouped(law.failed)) failed"
            "law \(law.law.padded(to: 7)) \(count)"
        }
        for op in exercised { "op  \(op.version) \(op.op.padded(to: 20)) up \(grouped(op.up)), down \(grouped(op.down))" }
        for op in notExercised { "NOT EXERCISED \(op)" }
        if let seed {
            let adopted = cases.adopted > 0 ? ", \(grouped(cases.adopted)) adopted from version 0" : ""
            """
            cases \(grouped(cases.log)) of the log\(adopted), \(grouped(cases.generated)) generated, \(grouped(cases.mutated)) mutated \
            (seed \(seed)), \(grouped(cases.refused)) of these refused by steps that may; read models of the first \
            \(counted(cases.replayed, "event"))
            """
        }
        if let since, since.holds {
            let whose = since.isTrusted ? "by the key that is trusted" : "by \(since.key)"
            let series = since.heads > 1 ? ", the last of \(grouped(since.heads)) heads" : ""
            "as signed: positions 1 to \(grouped(since.position.rawValue)), signed \(since.time) \(whose)\(series)"
        }
    }
}

extension LawCount: PrintableObject {
    var members: Members { ["law": law, "tried": tried, "failed": failed, "lossy": lossy] }
}

struct SnapshotCommand: ParsableCommand, Group {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Names restore points of the log.",
        discussion: """
            A snapshot is a row in the store and costs nothing. It protects from mistakes, not from \
            damage: it lies in the same files.

            Example: evstore snapshot take before-the-fair
            """,
        subcommands: [Take.self, List.self, Verify.self, Prune.self])

    struct Take: Command {
        static let configuration = CommandConfiguration(
            commandName: "take", abstract: "Names the end of the log.",
            discussion: "Example: evstore snapshot take before-the-fair")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "A name of its own.") var name: String

        func run(in session: Session) async throws {
            let snapshot = try await session.withStore { store in try await store.takeSnapshot(name) }
            try session.output.print(snapshot.members) {
                "snapshot   \(snapshot.name) at position \(grouped(snapshot.position.rawValue)), \(snapshot.live) live"
            }
        }
    }

    struct List: Command {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints every snapshot, oldest first.",
            discussion: """
                A snapshot that a cut took off is marked as cut off: it can't be gone back to any more, and \
                `snapshot prune` removes it.

                Example: evstore snapshot list --json
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        func run(in session: Session) async throws {
            let snapshots = try await session.withStore(.reading) { store in try store.snapshots() }
            let width = snapshots.map(\.name.count).max() ?? 0
            for snapshot in snapshots {
                try session.output.row(snapshot.members) {
                    "\(snapshot.name.padded(to: width))   at \(grouped(snapshot.position.rawValue).aligned(to: 13))   \(snapshot.live) live   \(snapshot.time)"
                        + (snapshot.epoch > .first ? "   epoch \(snapshot.epoch)" : "")
                        + (snapshot.isCutOff ? "   cut off" : "")
                }
            }
        }
    }

    struct Verify: Command {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Holds snapshots against the log and the read models.",
            discussion: """
                A snapshot that a cut took off is named in a note and is no damage: it can't be gone back to \
                any more, and `snapshot prune` removes it.

                Example: evstore snapshot verify before-the-fair
                """)

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Argument(help: "The snapshot; every one where it is not given.") var name: String?

        func run(in session: Session) async throws {
            let findings = try await session.withStore(.reading) { store in try store.maintenance.verifySnapshots(name) }
            try CheckReport(findings, checked: "snapshots against the log", failing: .integrity).end(session.output)
        }
    }

    struct Prune: Command {
        static let configuration = CommandConfiguration(
            commandName: "prune", abstract: "Forgets all snapshots but the newest that can be gone back to.",
            discussion: "Example: evstore snapshot prune --keep 5")

        @OptionGroup(title: "Everywhere") var global: GlobalOptions

        @Option(help: ArgumentHelp("How many to keep.", valueName: "n")) var keep = 5

        func validate() throws { if keep < 0 { throw ValidationError("--keep is a number of snapshots, not \(keep)") } }

        func run(in session: Session) async throws {
            let pruned = try await session.withStore { store in try await store.maintenance.pruneSnapshots(keeping: keep) }
            try session.output.print(["pruned": pruned]) {
                pruned.isEmpty ? "nothing to forget" : "forgotten  \(pruned.joined(separator: ", "))"
            }
        }
    }
}

extension SnapshotReport {
    var members: Members { ["name": name, "position": position, "epoch": epoch, "live": live, "time": time, "cutOff": isCutOff] }
}
