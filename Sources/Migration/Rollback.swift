internal import Bytes
internal import EventLog
package import EventModel
internal import Logging
internal import Projections
internal import SchemaEvolution

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

/// The data of events born above an older version that this version does not show, and which of them have no image there.
struct RollbackLoss {
    /// The number of events born above the version, and how many of them were examined.
    var bornAbove, sample: UInt64
    /// The losses of the examined events, by step, type and op.
    var loss: [PlannedLoss]
    let conversion: ConversionMeasure

    /// - Parameter eventsMax: the most events that are examined, from the first position where such an event can be.
    init(
        _ context: MigrationContext, _ state: StoreState, _ flips: FlipHistory, to target: SchemaVersion, eventsMax: Int
    ) throws(EvstoreError) {
        bornAbove = try context.census().filter { $0.born > target }.sum(\.count)
        let history = try context.evolving.current().history
        (sample, loss) = (0, [])
        guard bornAbove > 0 else {
            conversion = ConversionMeasure(history, at: target)
            return
        }
        // On a node, events above a version may come before it was live here: other nodes may have appended them.
        let start = context.log.membership == nil ? flips.firstAbove(target) : .start
        let windows = try SampleWindows(context, eventsMax: eventsMax, after: start, bornAbove: target)
        var quiet = context
        quiet.job = quiet.job.silent
        let seen = try Laws.sample(quiet, history, windows, at: target)
        (sample, conversion) = (seen.laws.passed, seen.conversion)
        loss = seen.laws.losses.planned(history, from: state.live, to: target).filter { $0.count > 0 }
    }
}

extension LossAccount {
    /// The losses that a replay from one version to another reports: those that its steps declare, other losses of its events, and the data
    /// of events newer than the target that the target does not show. Losses of the steps up to `from` are excluded, since they have
    /// already happened.
    func planned(_ history: History, from: SchemaVersion, to: SchemaVersion) -> [PlannedLoss] {
        var rest = counts.filter { $0.key.direction == .down || $0.key.loss.version > from }
        var found: [PlannedLoss] = []
        // An empty reason counts as no declaration.
        for loss in history.losses(from: from, to: to) where !loss.because.isEmpty && !found.contains(where: { $0.names(loss) }) {
            let entries = rest.filter { $0.key.loss == loss && !$0.key.isOtherForm }
            for entry in entries { rest[entry.key] = nil }
            found.append(
                PlannedLoss(
                    version: loss.version, type: loss.type, what: loss.words, declared: true, asks: false,
                    count: entries.sum(\.value.events), first: entries.map(\.value.first).min()))
        }
        let others = rest.map { entry, count in
            PlannedLoss(
                version: entry.loss.version, type: entry.loss.type, what: entry.words, declared: !entry.loss.because.isEmpty,
                asks: entry.isUndeclared, count: count.events, first: count.first)
        }
        return found + others.sorted { ($0.version, Name($0.type), $0.what) < ($1.version, Name($1.type), $1.what) }
    }
}

extension PlannedLoss {
    fileprivate func names(_ loss: LossDeclaration) -> Bool { version == loss.version && type.isSame(as: loss.type) && what == loss.words }
}

extension LossDeclaration {
    fileprivate var words: String { "\(op): \(because)" }
}

extension LossAccount.Entry {
    fileprivate var words: String {
        switch (isOtherForm, direction) {
        case (true, .up): "\(loss.op): another form of a value than the codec's own"
        case (true, .down): "\(loss.op): another form of a value than versions below \(loss.version) give back"
        case (false, _) where !loss.because.isEmpty: loss.words
        case (false, .up): "\(loss.op): what it does not give back"
        case (false, .down): "\(loss.op): what versions below \(loss.version) do not show"
        }
    }
}
