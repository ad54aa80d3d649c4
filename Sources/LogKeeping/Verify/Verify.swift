internal import EventLog
public import EventModel
internal import Hashing
public import Migration
internal import Projections

/// Verifies a store: its log, its read models, and the steps on its own events.
package enum Verify {
    /// - Parameters:
    ///   - deep: recomputes the digests of the read models.
    ///   - laws: tries the steps on the whole log, and on events that are made up from `seed`.
    ///   - quarantine: the version at which events of the log may lack an image without breaking a law; where nil, those may that a read
    ///     model of the live version has in its quarantine.
    ///   - key: signs the log's end if no finding is an error.
    ///   - heads: a series of earlier heads, oldest first; the store is compared with the last.
    ///   - trusted: the key that must have signed them; nil for `key`.
    ///   - isAccepted: makes findings that only the signer can judge (`SignedHead.acceptable`) warnings.
    /// - Throws: `EvstoreError`: signatureInvalid, epochChanged, interrupted.
    package static func run(
        _ context: MigrationContext, deep: Bool, laws: Bool, seed: UInt64? = nil, quarantine: SchemaVersion? = nil,
        signing key: SigningKey? = nil, since heads: [SignedHead] = [],
        trusting trusted: PublicKey? = nil, accepting isAccepted: Bool = false
    ) throws(EvstoreError) -> VerifyReport {
        let trusted = trusted ?? key?.publicKey
        if let trusted { for head in heads { try head.require(trusted) } }
        let walk = try converting {
            try context.log.walk(deep: deep, asking: heads.last?.position) { done, total in
                context.job.report("verify", done: done, total: total)
            }
        }
        var findings = walk.findings
        let foreign = findings.isEmpty ? try converting { try BackupRows.findings(context.log) } : []
        // In a damaged store the signed state would prove nothing.
        let current = findings.isEmpty && (key != nil || !heads.isEmpty) ? try SignedState.read(context) : nil
        let since = compare(heads, walk, current, isTrusted: trusted != nil, &findings)
        if isAccepted {
            for index in findings.indices where SignedHead.acceptable.contains(findings[index].id) { findings[index].severity = .warning }
        }
        let state = try context.state()
        findings += foreign
        // Invalid rows are not used: a reader of them would stop at the first one.
        let hasForeign = findings.contains { $0.id == BackupRows.foreignRow }
        if !hasForeign { findings += try GenerationSet.findings(context, state, deep: deep) }
        var report = VerifyReport(ok: true, findings: findings, laws: [], events: 0)
        if laws, !hasForeign {
            let seed = seed ?? UInt64.random(in: 0 ... UInt64(UInt32.max))
            report.add(try Laws.prove(context, state, seed: seed, quarantine: quarantine))
        }
        report.events = try context.last().position.rawValue
        report.ok = !report.findings.contains { $0.severity == .error }
        report.since = since
        if let key, let link = walk.link, let current, report.ok {
            // Order: synced before signing, since a head that says more than the disk has would be a false alarm after a power cut.
            do { try context.log.makeDurable() } catch {
                throw EvstoreError(converting: error, at: context.log.path, doing: "syncing the log")
            }
            let end = LogEnd(last: walk.end, link: link, content: try content(of: walk, context))
            report.head = try SignedHead(end, of: walk.store, current.state, after: heads.last, by: key)
        }
        return report
    }

    private static func compare(
        _ heads: [SignedHead], _ walk: LogWalk, _ current: (state: SignedState, ledger: [ForgottenLedger.Entry])?, isTrusted: Bool,
        _ findings: inout [Finding]
    ) -> SinceReport? {
        guard let head = heads.last else { return nil }
        var changed = SignedHead.findings(ofSeries: heads)
        if let current {
            changed += head.findings(walk)
            if head.store == walk.store.description { changed += head.findings(current.state, current.ledger) }
        }
        let holds = current != nil && !changed.contains { $0.severity == .error }
        findings += changed
        if !isTrusted {
            findings.append(
                Finding(
                    id: "STORE106", severity: .warning,
                    message: "the head was signed by the key \(head.key); nobody has said whose that is",
                    advice: "name the key that is trusted: \(.trustSigner)"))
        }
        return SinceReport(
            position: head.position, epoch: head.epoch, time: head.time, key: head.key, isTrusted: isTrusted, holds: holds,
            heads: heads.count)
    }

    /// The digest over the canonical events of the walked log.
    private static func content(of walk: LogWalk, _ context: MigrationContext) throws(EvstoreError) -> Digest {
        let content = try converting {
            try context.log.contentDigest(through: walk.end.position) { done in
                try context.job.advance("digest", done: done.rawValue, total: walk.end.position.rawValue)
            }
        }
        let last = try context.last()
        // After a cut meanwhile, the digest would be that of another log than the walked one.
        guard last.epoch == walk.end.epoch else { throw .epochChanged(seen: walk.end, cut: last) }
        return content
    }
}

/// The result of a verification.
public struct VerifyReport: Hashable, Sendable {
    /// Whether no finding is an error.
    public var ok: Bool
    public var findings: [Finding]
    /// How often each law was tried; empty unless laws were requested.
    public var laws: [LawCount]
    public var events: UInt64
    /// How often each op was tried, in the order of the files.
    public var exercised: [OpCount] = []
    /// Ops that no event went through; empty unless laws were requested.
    public var notExercised: [String] = []
    /// The seed of the made-up events; nil unless laws were requested.
    public var seed: UInt64?
    public var cases = LawCases()
    /// What the log's events lose on their way to the live version, and what newer events have that it does not show.
    public var loss: [PlannedLoss] = []
    /// The new head, if a key was given and no finding is an error.
    public var head: SignedHead?
    /// How the store compares with the given heads; nil where none were given.
    public var since: SinceReport?
}

/// How a store compares with an earlier signed head.
public struct SinceReport: Hashable, Sendable {
    public var position: Position
    public var epoch: Epoch
    public var time: Timestamp
    public var key: PublicKey
    /// Whether the caller has named the key as trusted.
    public var isTrusted: Bool
    /// Whether the log up to the position, and those versions, definitions and keys that may not change, are unchanged since signing.
    public var holds: Bool
    /// How many heads the series has; the last one was compared.
    public var heads: Int = 1
}

extension VerifyReport {
    mutating func add(_ proved: LawReport) {
        (laws, exercised, notExercised, cases) = (proved.laws, proved.exercised, proved.notExercised, proved.cases)
        (seed, loss) = (proved.seed, proved.loss)
        findings += proved.findings
    }
}
