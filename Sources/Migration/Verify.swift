internal import EventLog
package import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

/// Verifies a store: its log, its read models, and the steps on its own events.
package enum Verify {
    /// `deep` recomputes the read models' digests; `laws` tries the steps on the whole log, and on made events.
    /// - Parameters:
    ///   - key: signs the log's end where nothing is wrong.
    ///   - heads: heads that were signed before, each after the one that it names; the store is compared with the last.
    ///   - trusted: who must have signed them; `key`'s owner where it is nil.
    ///   - isAccepted: whether changes that only the signer can judge (`SignedHead.acceptable`) were meant.
    package static func run(
        _ site: MigrationSite, deep: Bool, laws: Bool, seed: UInt64? = nil, signing key: SigningKey? = nil, since heads: [SignedHead] = [],
        trusting trusted: PublicKey? = nil, accepting isAccepted: Bool = false
    ) throws(EvstoreError) -> VerifyReport {
        let trusted = trusted ?? key?.publicKey
        if let trusted { for head in heads { try head.require(trusted) } }
        let walk = try migrating {
            try site.log.walk(deep: deep, asking: heads.last?.position) { done, total in site.say("verify", done: done, total: total) }
        }
        var findings = walk.findings
        // In a damaged store the signed state proves nothing.
        let beside = findings.isEmpty && (key != nil || !heads.isEmpty) ? try SignedState.read(site) : nil
        let since = compare(heads, walk, beside, isTrusted: trusted != nil, &findings)
        if isAccepted {
            for index in findings.indices where SignedHead.acceptable.contains(findings[index].id) { findings[index].severity = .warning }
        }
        let state = try site.state()
        findings += try readModels(site, state, deep: deep)
        var report = VerifyReport(ok: true, findings: findings, laws: [], events: 0)
        if laws { try prove(site, state, seed: seed ?? UInt64.random(in: 0 ... UInt64(UInt32.max)), &report) }
        report.events = try site.last().position.rawValue
        report.ok = !report.findings.contains { $0.severity == .error }
        report.since = since
        if let key, let link = walk.link, let beside, report.ok {
            report.head = try sign(walk, link, beside.state, after: heads.last, key, site)
        }
        return report
    }

    /// What is wrong with the read models that the store names, those of the live version first.
    private static func readModels(_ site: MigrationSite, _ state: StoreState, deep: Bool) throws(EvstoreError) -> [Finding] {
        var findings: [Finding] = []
        var seen: Set<String> = []
        for version in [state.live] + (state.floor.rawValue ... state.top.rawValue).map({ SchemaVersion($0) }) {
            let generationSet = try GenerationSet.registered(site, at: version, state)
            for entry in generationSet.entries where seen.insert(entry.fingerprint).inserted {
                guard let name = state.generations[entry.fingerprint] ?? entry.directory else {
                    if version == state.live, entry.definition.isAvailable { findings.append(missing(entry, at: version)) }
                    continue
                }
                try site.checkCancellation()
                if let finding = try generationSet.brokenPages(entry, in: name, site) {
                    // LMDB must not follow damaged pages.
                    findings.append(finding)
                } else if deep {
                    if let finding = try generationSet.damage(entry, site) { findings.append(finding) }
                    guard version == state.live, let row = try generationSet.invalidRow(entry, site) else { continue }
                    let error = EvstoreError.invalidRow(projection: entry.name, key: row.key, reason: row.reason)
                    findings.append(Finding(id: "ROW101", severity: .warning, message: error.message, advice: error.details.advice))
                }
            }
        }
        return findings
    }

    private static func missing(_ entry: GenerationSet.Entry, at version: SchemaVersion) -> Finding {
        Finding(
            id: "STORE201", severity: .warning, message: "the read model of \(entry.name) at \(version) is not on the disk",
            advice: "build it: \(.replay(to: version))")
    }

    private static func compare(
        _ heads: [SignedHead], _ walk: LogWalk, _ beside: (state: SignedState, ledger: [ForgottenLedger.Entry])?, isTrusted: Bool,
        _ findings: inout [Finding]
    ) -> SinceReport? {
        guard let head = heads.last else { return nil }
        var changed = SignedHead.findings(ofSeries: heads)
        if let beside {
            changed += head.findings(walk)
            if head.store == walk.store.description { changed += head.findings(beside.state, beside.ledger) }
        }
        let holds = beside != nil && !changed.contains { $0.severity == .error }
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

    private static func sign(
        _ walk: LogWalk, _ link: Digest, _ state: SignedState, after previous: SignedHead?, _ key: SigningKey, _ site: MigrationSite
    ) throws(EvstoreError) -> SignedHead {
        let content = try migrating {
            try site.log.contentDigest(through: walk.end.position) { done in
                try site.checkCancellation()
                site.say("digest", done: done.rawValue, total: walk.end.position.rawValue)
            }
        }
        let last = try site.last()
        // The digest is of the log that was walked only where nothing was cut off meanwhile.
        guard last.epoch == walk.end.epoch else { throw .epochChanged(seen: walk.end, cut: last) }
        return try SignedHead(walk, link: link, content: content, state, after: previous, at: .now, by: key)
    }

    /// Tries every law: those of events, then those of read models.
    private static func prove(
        _ site: MigrationSite, _ state: StoreState, seed: UInt64, _ report: inout VerifyReport
    ) throws(EvstoreError) {
        let history = try site.evolving.current().history
        try history.requireSwiftSteps(through: history.head)
        var tally = try Laws.checkEvents(site, history, state, seed: seed)
        var models = try ReplayLaws(site)
        for version in Set([state.live, state.floor]).sorted() { try models.check(state, at: version) }
        try models.checkShared(state)
        tally.add(models.tally)
        report.laws = Laws.all.map { law in
            let count = tally.counts[law]
            return LawCount(law: law, tried: count?.tried ?? 0, failed: count?.failed ?? 0, lossy: count?.lossy ?? 0)
        }
        let cases = history.cases(tally.crossings)
        report.notExercised = cases.filter { $0.count == 0 }.map(\.description)
        report.exercised = Laws.exercised(cases)
        report.cases = LawCases(
            log: tally.cases[.log] ?? 0, adopted: tally.cases[.adopted] ?? 0, generated: tally.cases[.generated] ?? 0,
            mutated: tally.cases[.mutated] ?? 0, refused: tally.refused, replayed: models.events)
        report.seed = seed
        report.loss = tally.losses.planned(history, from: SchemaVersion(1), to: state.live)
        report.findings += tally.failures.map { Laws.finding($0, history) } + models.findings
    }
}
