internal import Bytes
internal import EventLog
package import EventModel
internal import Logging
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Goes back to the read models of an older version and keeps every event: events born later are seen through `down`.
package enum Rollback {
    /// Rolls back; where `version` is nil, to the version from which the last replay reached the live one.
    package static func run(
        _ context: MigrationContext, to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> RollbackReport {
        let began = Instant.now
        try context.log.requireOwn()
        return try await context.locked { () async throws(EvstoreError) in
            let state = try context.state()
            let flips = try FlipHistory(context.log)
            let target = try flips.target(version, state)
            var report = RollbackReport(from: state.live, to: target, position: try context.last().position)
            if target != state.live {
                context.logger.info(
                    "a rollback begins", metadata: ["from": "\(state.live)", "to": "\(target)", "store": "\(context.store)"])
                var generationSet = try GenerationSet.registered(context, at: target, state)
                report.without = try generationSet.leaveBehind(without)
                report.rebuilt = try generationSet.build(onError: .quarantine).map(\.name)
                let flip = try await move(context, Flip.Order(cause: .rollback, planned: state, generationSet: generationSet, began: began))
                report.position = flip.position
                (report.flipBegan, report.flipPause) = (flip.began, flip.pause)
                report.tail = flip.position.events(after: flips.reached(target, state) ?? Position(.max))
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
    }

    private static let eventsExamined = 10_000

    /// What the older version does not show of the events above it; nil where that can't be determined, which does not undo the rollback.
    private static func loss(
        _ context: MigrationContext, _ state: StoreState, _ flips: FlipHistory, to target: SchemaVersion
    ) -> RollbackLoss? {
        do { return try RollbackLoss(context, state, flips, to: target, eventsMax: eventsExamined) } catch {
            context.warn("the losses at \(target) could not be determined", error)
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
            try order.generationSet.follow()
            MigrationPhase.reached(.rollbackFollowed)
            try order.generationSet.verify(rowsMax: context.options.rollbackVerifyRowsMax)
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
    /// of events newer than the target that the target does not show, but not those of the steps up to `from`, which have happened.
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

/// Goes back to a snapshot's position by cutting the log there: later events move to the archive. On a node of a cluster log the cut is a
/// frame, and every node archives and cuts when it reaches the frame.
package enum CutRollback {
    /// - Throws: `EvstoreError.consentNeeded` unless `consent` covers this tail; `epochChanged` where the snapshot lies beyond an earlier
    ///   cut; `locked` while another process has the store open.
    package static func run(
        _ context: MigrationContext, toSnapshot name: String, _ consent: TailConsent
    ) async throws(EvstoreError) -> RollbackReport {
        let began = Instant.now
        try context.log.requireOwn()
        let snapshot = try Snapshot.named(name, context.log)
        let isNode = context.log.membership != nil
        // A node applies the cuts of others while programs have it open, so it can do so with its own.
        let lock = isNode ? try MigrationLock.take(context) : try MigrationLock.takeExclusively(context)
        defer { lock.release() }
        if isNode { try await awaiting { try await context.log.takeInFrames() } }
        let (state, last) = (try context.state(), try context.last())
        guard try snapshot.isOf(context.log) else {
            throw .verificationFailed(
                reason: "the log at position \(snapshot.position) is not what the snapshot \(snapshot.name) noted; nothing was changed")
        }
        var report = RollbackReport(from: state.live, to: snapshot.live, position: snapshot.position)
        let effects = try CutEffects(of: snapshot, state, last.position, context)
        try consent.require(to: effects, after: snapshot, context, state.epoch)
        report.tail = effects.tail
        report.floor = effects.floor == nil ? nil : snapshot.floor
        report.nodes = effects.nodes.map(\.name)
        try GenerationSweep.run(context)
        var generationSet = try generationSet(context, snapshot, state)
        // The head may be higher than the snapshot's, since registered versions stay known.
        let hasNumbers = (state.floor, state.live, state.top) == (snapshot.floor, snapshot.live, snapshot.top)
        let isThere = report.tail == 0 && hasNumbers && generationSet.isLive(in: state)
        if !isThere {
            if report.tail > 0, !isNode { report.archive = try await Archive.write(context, after: snapshot.position, through: last) }
            // Order: read models are built and compared before the cut, so that they are available at every moment.
            report.rebuilt = try generationSet.build(onError: .quarantine, through: snapshot.position).map(\.name)
            MigrationPhase.reached(.cutRebuilt)
            let differing = try generationSet.differing(from: snapshot)
            if try Journal.hasForgotten(since: snapshot, context.log) { report.forgotten = differing } else { report.differing = differing }
            let end = try await cut(context, snapshot, generationSet, state, report)
            if isNode, end.position > snapshot.position {
                report.tail = end.position.events(after: snapshot.position)
                report.archive = Archive.path(in: context.store, after: snapshot.position, through: end)
                let built = generationSet.entries
                do {
                    // The ones before may have gone beyond the cut.
                    try await context.log.changing { update in
                        for entry in built { update.state.generations[entry.fingerprint] = entry.directory }
                    }
                } catch {
                    // The cut is made, and a query builds these read models later: an error here would make the caller repeat the cut.
                    context.warn("the read models behind a cut could not be registered", error)
                }
            }
            MigrationPhase.reached(.cutAfter)
            try GenerationSweep.run(
                context, keepingReady: try GenerationSet.fingerprints(context, from: snapshot.floor, through: snapshot.top))
            MigrationPhase.reached(.pruneAfter)
        }
        report.duration = began.duration(to: .now)
        return report
    }

    /// The live read models of the snapshot, except those that have gone beyond it, and those in Swift that this program lacks.
    private static func generationSet(
        _ context: MigrationContext, _ snapshot: SnapshotReport, _ state: StoreState
    ) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(context, context.evolving, at: snapshot.live)
        generationSet.entries.removeAll { !$0.definition.isAvailable }
        try generationSet.find(state, acceptingQuarantine: true, through: snapshot.position)
        return generationSet
    }

    /// - Returns: the end of the log before the cut. On a node it may be further than `report` says, since others append meanwhile.
    private static func cut(
        _ context: MigrationContext, _ snapshot: SnapshotReport, _ generationSet: GenerationSet, _ planned: StoreState,
        _ report: RollbackReport
    ) async throws(EvstoreError) -> Checkpoint {
        let kept = try GenerationSweep.mapped(context, planned, through: snapshot.position)
        let digest = try generationSet.digest()
        return try await context.log.changing { update in
            try update.requireStamp(of: planned)
            let end = update.last
            guard end.position == snapshot.position.plus(report.tail) || update.node != nil && report.tail > 0 else {
                throw EvstoreError.verificationFailed(reason: "events were appended meanwhile; nothing was cut")
            }
            // Nodes that have to go down learn it from the frame of a cut, also where it takes no events off.
            let lowered = try update.nodes().contains { $0.live > snapshot.top && $0.name != update.node?.node }
            if report.tail > 0 || lowered { try update.cut(to: snapshot.position, note: snapshot.name) }
            // A cut that a node below could not take in must not be offered.
            if let below = try update.nodes().first(where: { $0.live < snapshot.floor && $0.name != update.node?.node }) {
                throw EvstoreError.verificationFailed(
                    reason: "node \(below.name) is at \(below.live), below the snapshot's floor \(snapshot.floor); nothing was changed")
            }
            try update.lowerNodes(to: snapshot.top)
            update.state.generations = kept
            for entry in generationSet.entries { update.state.generations[entry.fingerprint] = entry.directory }
            (update.state.floor, update.state.live, update.state.top) = (snapshot.floor, snapshot.live, snapshot.top)
            try update.state.checkNumbers()
            func words(_ what: String, _ names: [String]) -> String { names.isEmpty ? "" : "; \(what): \(names.joined(separator: ", "))" }
            let differs = words("not as noted", report.differing) + words("not as noted before a forget", report.forgotten)
            let outcome = "to \(snapshot.name), \(report.tail) events archived\(differs)"
            try Journal.append(
                .init(.cut, from: planned.live, to: snapshot.live, position: snapshot.position, outcome: outcome, digest: digest),
                to: &update)
            MigrationPhase.reached(.cutInside)
            return end
        }
    }
}
