internal import Bytes
internal import EventLog
package import EventModel
internal import Projections
internal import SchemaEvolution

extension Plan {
    /// Looked at for what an older version does not show; more than a rollback looks at, since nobody waits for a plan.
    private static let eventsLookedAt = 50_000

    /// What a rollback would do; to the version from which the last replay reached the live one where `version` is nil.
    /// - Parameter names: read models in Swift that it would leave behind.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage, unknownVersion, unknownProjection, interrupted.
    package static func back(
        _ site: MigrationSite, to version: SchemaVersion? = nil, without names: Set<String> = []
    ) throws(EvstoreError) -> PlanReport {
        let (state, last) = (try site.state(), try site.last())
        let (evolution, flips, census) = (try site.evolving.current(), try Flips(site.log), try census(site))
        let wayBack = WayBack(evolving: site.evolving, state: state, flips: flips, census: census)
        let target = try flips.target(version, state)
        var report = PlanReport(from: state.live, to: target)
        report.pending = target != state.live
        report.rollback = try wayBack.plan(site, to: target, without: names)
        if let refused = report.rollback.refused { report.refused.append(refused) }
        if !report.pending { return report }

        let history = evolution.history
        let all = try GenerationSet.registered(site, at: target, state)
        var models = all
        models.entries.removeAll { names.contains($0.name) || !$0.definition.isAvailable }
        report.opClass = history.opClass(from: state.live, to: target).description
        report.tail = last.position.events(after: flips.reached(target, state))
        report.gone = try evolution.definitions(at: state.live).map(\.name).filter { name in !all.entries.contains { $0.name == name } }
        let loss = try BackLoss(site, state, flips, to: target, eventsMax: eventsLookedAt)
        (report.loss, report.bornAbove, report.sample) = (loss.loss, loss.bornAbove, loss.sample)
        let seen = try Measure(history, target, Sample(site, SampleWindows(site, after: flips.firstAbove(target), bornAbove: target)), site)
        for row in census { report.types.append(try seen.outlook(of: row)) }
        report.needs = history.missingSwiftSteps(from: state.live, to: target)
        report.quarantined = try models.quarantinedEvents(site)
        (report.rebuild, report.carry) = (models.missing.map(\.name), models.present.map(\.name))
        try measure(&report, models, census.sum(\.count), site)
        return report
    }

    /// Time and space: of builds on the first events of the log, of following on the first that a read model has still to take in.
    private static func measure(
        _ report: inout PlanReport, _ models: GenerationSet, _ events: UInt64, _ site: MigrationSite
    ) throws(EvstoreError) {
        let last = try site.last().position
        let headers = try models.headers(site)
        report.rows = headers.sum(\.header.rows)
        report.events = headers.map { last.events(after: $0.header.checkpoint.position) }.max() ?? 0
        do {
            if !models.missing.isEmpty {
                report.events = events
                let trial = try build(site, models, events, onError: .quarantine)
                (report.seconds, report.bytes) = (trial.seconds, trial.bytes)
            }
            let scratch = try Scratch.make(site)
            defer { scratch.remove() }
            for (entry, header) in headers where header.checkpoint.position < last {
                report.seconds += try secondsToFollow(entry, from: header.checkpoint, models.evolving, scratch, site)
            }
        } catch {
            // The rollback itself would end so.
            guard case .programNeeded = error else { throw error }
            report.refused.append(PlannedRefusal(error: error))
            report.rollback.refused = report.rollback.refused ?? report.refused.first
        }
    }

    private static func secondsToFollow(
        _ entry: GenerationSet.Entry, from start: Checkpoint, _ evolving: VersionedLog, _ scratch: Scratch, _ site: MigrationSite
    ) throws(EvstoreError) -> Double {
        let generation = try Generation.create(for: entry.definition, in: scratch.path, of: site.log)
        try generation.begin(at: start)
        let behind = try site.last().position.events(after: start.position)
        let measured = min(behind, eventsMeasured)
        let began = ContinuousClock.now
        try Follower(evolving).catchUp(generation, entry.definition, to: start.position.plus(measured), site.job.silent)
        return began.duration(to: .now).inSeconds * Double(behind) / Double(measured)
    }
}
