internal import EventLog
package import EventModel
internal import Logging
internal import Projections

/// Going back to the read models of an older version, with every event kept: those born later are seen through `down`.
package enum Rollback {
    /// To the version from which the last replay reached the live one where `version` is nil.
    package static func run(
        _ site: MigrationSite, to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> RollbackReport {
        let began = ContinuousClock.now
        try site.log.requireOwn()
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        try await site.takeInFrames()
        return try await site.replanning { () async throws(EvstoreError) in try await locked(site, to: version, without: without, began) }
    }

    private static func locked(
        _ site: MigrationSite, to version: SchemaVersion?, without: Set<String>, _ began: ContinuousClock.Instant
    ) async throws(EvstoreError) -> RollbackReport {
        let state = try site.state()
        let flips = try Flips(site.log)
        let target = try flips.target(version, state)
        var report = RollbackReport(from: state.live, to: target, position: try site.last().position)
        if target != state.live {
            site.logger.info("a rollback begins", metadata: ["from": "\(state.live)", "to": "\(target)", "store": "\(site.store)"])
            var generationSet = try GenerationSet.registered(site, at: target, state)
            report.without = try generationSet.leaveBehind(without)
            report.rebuilt = try generationSet.build(site, onError: .quarantine).map(\.name)
            let flip = try await move(site, Flip.Order(cause: .rollback, planned: state, generationSet: generationSet, began: began))
            report.position = flip.position
            (report.flipBegan, report.flipPauseMilliseconds) = (flip.began, flip.pauseMilliseconds)
            report.tail = flip.position.events(after: flips.reached(target, state))
            site.logger.info(
                "a rollback ended",
                metadata: [
                    "live": "\(target)", "position": "\(report.position)", "tail": "\(report.tail)",
                    "milliseconds": "\(flip.pauseMilliseconds)",
                ])
        }
        report.seconds = began.duration(to: .now).inSeconds
        // It is done; nobody waits for this.
        let loss = target == state.live ? nil : loss(site, state, flips, to: target)
        (report.loss, report.bornAbove, report.sample) = (loss?.loss, loss?.bornAbove ?? 0, loss?.sample ?? 0)
        return report
    }

    /// What the older version does not show of what was appended; nil where that can't be told, which undoes no rollback.
    private static func loss(_ site: MigrationSite, _ state: StoreState, _ flips: Flips, to target: SchemaVersion) -> BackLoss? {
        do { return try BackLoss(site, state, flips, to: target, eventsMax: SampleWindows.eventsMax) } catch {
            site.logger.warning("looking at what \(target) does not show: \(error)")
            return nil
        }
    }

    /// Where a rollback leads that names no version.
    /// - Throws: `EvstoreError.nothingToRollBackTo`.
    package static func target(_ site: MigrationSite) throws(EvstoreError) -> SchemaVersion {
        try Flips(site.log).target(nil, site.state())
    }

    /// Follows to the end of the log, checks, and flips; again where appends were faster.
    private static func move(_ site: MigrationSite, _ order: Flip.Order) async throws(EvstoreError) -> Flip.Outcome {
        while true {
            try site.job.check()
            try order.generationSet.follow(site)
            MigrationPhase.reached(.rollbackFollowed)
            try order.generationSet.verify(site, rowsMax: site.options.rollbackVerifyRowsMax)
            MigrationPhase.reached(.rollbackVerified)
            if let outcome = try await Flip.run(order, site) { return outcome }
        }
    }
}
