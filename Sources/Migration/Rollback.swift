internal import EventLog
package import EventModel
internal import Logging
internal import Projections

/// Goes back to the read models of an older version and keeps every event: events born later are seen through `down`.
package enum Rollback {
    /// Rolls back; where `version` is nil, to the version from which the last replay reached the live one.
    package static func run(
        _ context: MigrationContext, to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> RollbackReport {
        let began = ContinuousClock.now
        try context.log.requireOwn()
        return try await context.locked { () async throws(EvstoreError) in
            try await locked(context, to: version, without: without, began)
        }
    }

    private static func locked(
        _ context: MigrationContext, to version: SchemaVersion?, without: Set<String>, _ began: ContinuousClock.Instant
    ) async throws(EvstoreError) -> RollbackReport {
        let state = try context.state()
        let flips = try FlipHistory(context.log)
        let target = try flips.target(version, state)
        var report = RollbackReport(from: state.live, to: target, position: try context.last().position)
        if target != state.live {
            context.logger.info("a rollback begins", metadata: ["from": "\(state.live)", "to": "\(target)", "store": "\(context.store)"])
            var generationSet = try GenerationSet.registered(context, at: target, state)
            report.without = try generationSet.leaveBehind(without)
            report.rebuilt = try generationSet.build(context, onError: .quarantine).map(\.name)
            let flip = try await move(context, Flip.Order(cause: .rollback, planned: state, generationSet: generationSet, began: began))
            report.position = flip.position
            (report.flipBegan, report.flipPause) = (flip.began, flip.pause)
            report.tail = flip.position.events(after: flips.reached(target, state))
            context.logger.info(
                "a rollback ended",
                metadata: [
                    "live": "\(target)", "position": "\(report.position)", "tail": "\(report.tail)",
                    "milliseconds": "\(flip.milliseconds)",
                ])
        }
        report.duration = began.duration(to: .now)
        // The rollback is complete, and nobody waits for this.
        let loss = target == state.live ? nil : loss(context, state, flips, to: target)
        (report.loss, report.bornAbove, report.sample) = (loss?.loss, loss?.bornAbove ?? 0, loss?.sample ?? 0)
        return report
    }

    /// What the older version does not show of the events above it; nil where that can't be determined, which does not undo the rollback.
    private static func loss(
        _ context: MigrationContext, _ state: StoreState, _ flips: FlipHistory, to target: SchemaVersion
    ) -> RollbackLoss? {
        do { return try RollbackLoss(context, state, flips, to: target, eventsMax: SampleWindows.eventsMax) } catch {
            context.logger.warning("the losses at \(target) could not be determined: \(error.advised)")
            return nil
        }
    }

    /// The version that a rollback leads to where the caller names none.
    /// - Throws: `EvstoreError.nothingToRollBackTo`.
    package static func target(_ context: MigrationContext) throws(EvstoreError) -> SchemaVersion {
        try FlipHistory(context.log).target(nil, context.state())
    }

    /// Follows to the end of the log, checks, and flips; repeats that where appends were faster.
    private static func move(_ context: MigrationContext, _ order: Flip.Order) async throws(EvstoreError) -> Flip.Outcome {
        while true {
            try context.job.check()
            try order.generationSet.follow(context)
            MigrationPhase.reached(.rollbackFollowed)
            try order.generationSet.verify(context, rowsMax: context.options.rollbackVerifyRowsMax)
            MigrationPhase.reached(.rollbackVerified)
            if let outcome = try await Flip.run(order, context) { return outcome }
        }
    }
}
