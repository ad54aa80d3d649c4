internal import EventLog
package import EventModel
internal import Projections
internal import SchemaEvolution

/// Looking over a store: its log, its read models, and the steps on its own events.
package enum Verify {
    /// `deep` recomputes the read models' digests; `laws` tries the steps on the whole log, and on made events.
    package static func run(
        _ site: MigrationSite, deep: Bool, laws: Bool, seed: UInt64? = nil
    ) throws(EvstoreError) -> VerifyReport {
        var findings = try migrating {
            try site.log.verify(deep: deep) { done, total in site.say("verify", done: done, total: total) }
        }
        let state = try site.state()
        let lineup = try Lineup.registered(site, at: state.live, state)
        for entry in lineup.missing where entry.definition.isAvailable {
            findings.append(
                Finding(
                    id: "STORE201", severity: .warning, message: "the read model of \(entry.name) at \(state.live) is not on the disk",
                    fix: "build it: evstore replay --to \(state.live)"))
        }
        if deep {
            for entry in lineup.present {
                if let finding = try lineup.damage(entry, site) { findings.append(finding) }
                guard let row = try lineup.invalidRow(entry, site) else { continue }
                let error = EvstoreError.invalidRow(projection: entry.name, key: row.key, reason: row.reason)
                findings.append(Finding(id: "ROW101", severity: .warning, message: error.message, fix: error.fix))
            }
        }
        var report = VerifyReport(ok: true, findings: findings, laws: [], events: 0)
        if laws { try prove(site, state, seed: seed ?? UInt64.random(in: 0 ... UInt64(UInt32.max)), &report) }
        report.events = try site.last().position.rawValue
        report.ok = !report.findings.contains { $0.severity == .error }
        return report
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
        report.findings += tally.failures.map { Laws.finding($0, history) } + models.findings
    }
}
