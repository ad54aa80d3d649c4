internal import EventLog
package import EventModel
internal import Projections

/// Closing the window: the live version becomes the oldest one promised.
package enum Finalize {
    /// - Throws: `EvstoreError.notLive` where another version is live.
    package static func run(_ site: MigrationSite, _ version: SchemaVersion) async throws(EvstoreError) -> FinalizeReport {
        let began = ContinuousClock.now
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        let planned = try site.state()
        guard planned.live == version else { throw .notLive(version, live: planned.live) }
        let named = try Lineup.fingerprints(site, from: version, through: version)
        try await migrating {
            try await site.log.update { update in
                try update.requireStamp(of: planned)
                let from = update.state.floor
                update.state.generations = update.state.generations.filter { named.contains($0.key) }
                guard from != version || update.state.top != version else { return }
                update.state.floor = version
                update.state.top = version
                try update.state.checkNumbers()
                let seconds = began.duration(to: .now).inSeconds
                try Journal.append(
                    .init("finalize", from: from, to: version, position: update.last.position, seconds: seconds), to: &update)
                MigrationPhase.reached(.finalizeInside)
            }
        }
        MigrationPhase.reached(.finalizeAfter)
        let pruned = try GenerationSweep.run(site, keepingReady: named)
        MigrationPhase.reached(.pruneAfter)
        return FinalizeReport(floor: version, pruned: pruned)
    }
}
