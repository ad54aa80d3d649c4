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
            }
        }
        var report = VerifyReport(ok: true, findings: findings, laws: [], events: 0)
        if laws {
            let seed = seed ?? UInt64.random(in: 0 ... UInt64(UInt32.max))
            let history = try site.evolving.current().history
            let targets = state.floor == state.live ? [state.live] : [state.live, state.floor]
            let tally = try Laws.checkAll(site, history, targets, seed: seed)
            report.laws = Laws.all.map { law in
                LawCount(law: law, tried: tally.counts[law]?.tried ?? 0, failed: tally.counts[law]?.failed ?? 0)
            }
            report.notExercised = history.cases(tally.crossings).filter { $0.count == 0 }.map(\.description)
            (report.seed, report.refused) = (seed, tally.refused)
            report.findings += tally.failures.map { Laws.finding($0, history) }
        }
        report.events = try site.last().position.rawValue
        report.ok = !report.findings.contains { $0.severity == .error }
        return report
    }
}
