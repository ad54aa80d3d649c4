internal import Bytes
internal import EventLog
package import EventModel
internal import Projections
internal import SchemaEvolution

extension Plan {
    /// The number of events that are examined for what an older version does not show; more than for a rollback, since a plan may take its
    /// time.
    private static let eventsExamined = 50_000

    /// Plans a rollback; where `version` is nil, to the version from which the last replay reached the live one.
    /// - Parameter names: read models in Swift that it would leave behind.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage, unknownVersion, unknownProjection, interrupted.
    package static func back(
        _ context: MigrationContext, to version: SchemaVersion? = nil, without names: Set<String> = []
    ) throws(EvstoreError) -> PlanReport {
        let (state, last) = (try context.state(), try context.last())
        let (evolution, flips, census) = (try context.evolving.current(), try FlipHistory(context.log), try context.census())
        let wayBack = RollbackPlanner(evolving: context.evolving, state: state, flips: flips, census: census)
        let target = try flips.target(version, state)
        var report = PlanReport(from: state.live, to: target)
        report.pending = target != state.live
        report.rollback = try wayBack.plan(context, to: target, without: names)
        if let error = try refusedToReplicas(context).first { report.rollback.refused = PlannedRefusal(error: error) }
        if let refused = report.rollback.refused { report.refused.append(refused) }
        if !report.pending { return report }

        let history = evolution.history
        let all = try GenerationSet.registered(context, at: target, state)
        var models = all
        models.entries.removeAll { names.contains($0.name) || !$0.definition.isAvailable }
        report.opClass = history.opClass(from: state.live, to: target).description
        report.tail = last.position.events(after: flips.reached(target, state))
        report.gone = try evolution.definitions(at: state.live).map(\.name).filter { name in !all.entries.contains { $0.name == name } }
        let loss = try RollbackLoss(context, state, flips, to: target, eventsMax: eventsExamined)
        (report.loss, report.bornAbove, report.sample) = (loss.loss, loss.bornAbove, loss.sample)
        for row in census { report.types.append(try loss.conversion.forecast(of: row)) }
        report.needs = history.missingSwiftSteps(from: state.live, to: target)
        report.quarantined = try models.quarantinedEvents(context)
        (report.rebuild, report.carry) = (models.missing.map(\.name), models.present.map(\.name))
        try measure(&report, models, census.sum(\.count), context)
        return report
    }

    /// Measures time and space: of builds on the first events of the log, of following on the first events that a read model lacks.
    private static func measure(
        _ report: inout PlanReport, _ models: GenerationSet, _ events: UInt64, _ context: MigrationContext
    ) throws(EvstoreError) {
        let last = try context.last().position
        let headers = try models.headers(context)
        report.rows = headers.sum(\.header.rows)
        report.events = headers.map { last.events(after: $0.header.checkpoint.position) }.max() ?? 0
        do {
            if !models.missing.isEmpty {
                report.events = events
                let trial = try build(context, models, events, onError: .quarantine)
                (report.duration, report.bytes) = (trial.duration, trial.bytes)
            }
            let scratch = try ScratchDirectory.make(context)
            defer { scratch.remove() }
            for (entry, header) in headers where header.checkpoint.position < last {
                report.duration += try timeToFollow(entry, from: header.checkpoint, models.evolving, scratch, context)
            }
        } catch {
            // The rollback itself would end with this error.
            guard case .programNeeded = error else { throw error }
            report.refused.append(PlannedRefusal(error: error))
            report.rollback.refused = report.rollback.refused ?? report.refused.first
        }
    }

    private static func timeToFollow(
        _ entry: GenerationSet.Entry, from start: Checkpoint, _ evolving: VersionedLog, _ scratch: ScratchDirectory,
        _ context: MigrationContext
    ) throws(EvstoreError) -> Duration {
        let generation = try Generation.create(for: entry.definition, in: scratch.path, of: context.log)
        try generation.begin(at: start)
        let behind = try context.last().position.events(after: start.position)
        let measured = min(behind, eventsMeasured)
        let began = ContinuousClock.now
        try Follower(evolving).catchUp(generation, entry.definition, to: start.position.plus(measured), context.job.silent)
        return began.duration(to: .now).scaled(by: Double(behind) / Double(measured))
    }
}
