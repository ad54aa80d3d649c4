internal import EventLog
package import EventModel
internal import Projections

/// Looking over a store: its log, its read models, and the steps on its own events.
package enum Verify {
    /// `deep` recomputes the read models' digests; `laws` tries the steps to the live version on a sample.
    package static func run(_ site: MigrationSite, deep: Bool, laws: Bool) throws(EvstoreError) -> VerifyReport {
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
            let result = try Laws.check(site, site.evolving.current().history, at: state.live)
            report.laws = result.counts.values.sorted { $0.law < $1.law }
            if let failure = result.firstFailure {
                report.findings.append(Finding(id: "LAW101", position: failure.place.position, message: failure.message, fix: failure.fix))
            }
            if let loss = result.firstLoss {
                let message = "L1: the event does not come back as it was after going up to \(state.live)"
                report.findings.append(Finding(id: "LAW102", severity: .note, position: loss, message: message))
            }
        }
        report.events = try site.last().position.rawValue
        report.ok = !report.findings.contains { $0.severity == .error }
        return report
    }
}
