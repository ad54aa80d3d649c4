internal import ArgumentParser
internal import Evstore
internal import LogKeeping
internal import Migration

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
    /// What stands beside the findings, for programs.
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

    /// What stands above the findings, for people.
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
