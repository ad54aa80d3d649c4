internal import EventLog
package import EventModel
internal import Projections

/// The events that read models could not take in, and building those read models anew once they can.
package enum Quarantine {
    /// Those of a version, by projection and position.
    package static func list(
        _ site: MigrationSite, at version: SchemaVersion, projection: String? = nil
    ) throws(EvstoreError) -> [QuarantineReport] {
        let generationSet = try GenerationSet.registered(site, at: version, try site.state())
        if let projection, !generationSet.entries.contains(where: { $0.name == projection }) {
            throw .unknownProjection(projection, known: generationSet.entries.map(\.name))
        }
        var reports: [QuarantineReport] = []
        for entry in generationSet.entries where projection == nil || entry.name == projection {
            reports += try generationSet.quarantined(entry, site)
        }
        return reports
    }

    /// Builds the live read models that have quarantined events anew, beside, and flips to those that lack fewer.
    ///
    /// An event is never applied late, since later events were folded without it.
    package static func retry(_ site: MigrationSite) async throws(EvstoreError) -> QuarantineRetryReport {
        let began = ContinuousClock.now
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        return try await site.replanning { () async throws(EvstoreError) in try await locked(site, began) }
    }

    private static func locked(
        _ site: MigrationSite, _ began: ContinuousClock.Instant
    ) async throws(EvstoreError) -> QuarantineRetryReport {
        let state = try site.state()
        try GenerationSweep.run(site)
        let current = try GenerationSet.registered(site, at: state.live, state)
        let before = try current.quarantineRows(site)
        var report = QuarantineRetryReport(rebuilt: [], before: before, after: before)
        var better = current
        for index in better.entries.indices where try current.quarantined(current.entries[index], site).isEmpty == false {
            better.entries[index].directory = nil
        }
        let names = try better.build(site, onError: .quarantine).map(\.name)
        let after = try better.quarantineRows(site)
        guard after < before else {
            try GenerationSweep.run(site)
            return report
        }
        let outcome = "done, \(after) of \(before) rows still in quarantine"
        let order = Flip.Order(cause: .retry, planned: state, generationSet: better, outcome: outcome, began: began)
        repeat { try better.follow(site) } while try await Flip.run(order, site) == nil
        try GenerationSweep.run(site)
        (report.rebuilt, report.after) = (names, after)
        return report
    }
}
