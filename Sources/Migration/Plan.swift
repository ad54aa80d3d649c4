internal import Bytes
internal import EventLog
package import EventModel
internal import Platform
package import Projections
package import SchemaEvolution

/// Plans a replay or a rollback, from the census, the compiled steps and a measured sample; changes nothing.
package enum Plan {
    /// Plans a replay; a rollback where the version is below the live one.
    package static func run(
        _ context: MigrationContext, to version: SchemaVersion, files: History? = nil, definitions: DefinitionSet? = nil
    ) throws(EvstoreError) -> PlanReport {
        if try version < context.state().live { return try back(context, to: version) }
        let intent = try Register(context, files: files, definitions: definitions, through: version)
        let (state, history) = (intent.state, intent.history)
        let live = try context.evolving.current().definitions(at: state.live)
        let evolving = intent.evolving(context)
        var target = try GenerationSet(context, evolving, at: version)
        try target.find(state, acceptingQuarantine: false)
        let census = try context.census()
        let windows = try SampleWindows(context)
        var quiet = context
        quiet.job = quiet.job.silent
        let (laws, seen) = try Laws.sample(quiet, history, windows, at: version)

        var report = PlanReport(from: state.live, to: version)
        report.rebuild = target.missing.map(\.name)
        report.carry = target.present.map(\.name)
        report.new = report.rebuild.filter { name in !live.contains { $0.name == name } }
        report.gone = live.map(\.name).filter { name in !target.entries.contains { $0.name == name } }
        report.rows = try target.headers().sum(\.header.rows)
        report.bornAbove = census.filter { $0.born > version }.sum(\.count)
        report.opClass = history.opClass(from: state.live, to: version).description
        report.oneWay = history.oneWaySteps(from: state.live, to: version).map { "\($0)" }
        for row in census { report.types.append(try seen.forecast(of: row)) }
        report.loss = laws.losses.planned(history, from: state.live, to: version)
        report.adoption = seen.adoption
        report.sample = laws.passed
        report.pending = !target.isLive(in: state) || intent.defersDefinitions
        report.needs = history.missingSwiftSteps(from: SchemaVersion(1), to: version)
        report.appendsRefused = try history.refusedAppends(from: state, to: version)
        // By the checks that the replay itself makes, in its order.
        var refused = Refusals(errors: try refusedToReplicas(context))
        if state.live != version { refused.check { () throws(EvstoreError) in try history.requireSwiftSteps(through: version) } }
        refused.check { () throws(EvstoreError) in try Consent.requireForSteps(history, from: state, to: version, given: false) }
        var stopped: EvstoreError?
        // Only read models that are made from events: making them from rows can't fail.
        var folded = target
        if !report.rebuild.isEmpty {
            if report.needs.isEmpty { try folded.measureMapped(LiveRows(context, state), &report) }
            if !folded.missing.isEmpty { report.events = census.sum(\.count) }
            if !folded.missing.isEmpty, report.needs.isEmpty {
                let trial = try build(folded, report.events)
                report.duration += trial.duration
                report.bytes += trial.bytes
                stopped = trial.stopped
                if stopped == nil { stopped = try seen.stopped(folded.missing, behind: trial.measured) }
                if let stopped { refused.errors.append(stopped) }
            }
        }
        report.quarantined = try target.quarantinedEvents()
        // An error that stops the build comes before the later checks.
        if stopped == nil { report.notSeen = try notSeen(folded, seen, census, windows, context) }
        if report.pending, report.needs.isEmpty {
            refused.check { () throws(EvstoreError) in try target.requireRowShapes() }
            // An error of the laws is mostly the same one that stopped the build.
            if stopped == nil, let failure = laws.firstFailure { refused.errors.append(failure) }
            refused.check { () throws(EvstoreError) in
                try Consent.requireForLoss(laws, history, from: state.live, to: version, given: false)
            }
        }
        report.refused = refused.errors.map { PlannedRefusal(error: $0) }
        let wayBack = RollbackPlanner(evolving: evolving, state: state, flips: try FlipHistory(context.log), census: census)
        report.rollback = try wayBack.flipped(to: version, at: context.last().position).plan(context)
        return report
    }

    /// The error that every migration of a replica ends with, before anything else; empty in a store of its own.
    static func refusedToReplicas(_ context: MigrationContext) throws(EvstoreError) -> [EvstoreError] {
        do { try context.log.requireOwn() } catch {
            guard case .replica = error else { throw error }
            return [error]
        }
        return []
    }

    /// How many events a build would consume that may have no image, but were examined neither in the sample nor in the trial.
    private static func notSeen(
        _ target: GenerationSet, _ seen: ConversionMeasure, _ census: [CensusRow], _ windows: SampleWindows, _ context: MigrationContext
    ) throws(EvstoreError) -> UInt64 {
        guard !target.missing.isEmpty, try context.last().position.rawValue > eventsMeasured else { return 0 }
        var seen = seen
        try Sample.visit(1 ... eventsMeasured, context) { () throws(EvstoreError) in
            try context.job.check()
        } _: { record, _ in
            if !windows.contain(record.position) { seen.see(context.log.name(ofType: record.type), born: record.born) }
        }
        return try seen.notSeen(census, for: target.missing)
    }

    /// Collects the errors of several checks; runs each, whatever the others have thrown.
    private struct Refusals {
        var errors: [EvstoreError]

        mutating func check(_ check: () throws(EvstoreError) -> Void) { do { try check() } catch { errors.append(error) } }
    }

    static let eventsMeasured: UInt64 = 20_000

    /// The result of building from the first events of the log.
    struct Trial {
        var measured: Position
        var duration = Duration.zero
        var bytes: UInt64 = 0
        /// The error that stops a strict build of these read models; nil where none does.
        var stopped: EvstoreError?
    }

    /// Builds from the first events of the log in a scratch directory, as strictly as the migration would, and extrapolates time and space.
    private static func build(_ target: GenerationSet, _ events: UInt64, onError: FailureRule = .stop) throws(EvstoreError) -> Trial {
        var trial = Trial(measured: Position(min(events, eventsMeasured)))
        if let lacking = target.missing.first(where: { !$0.definition.isAvailable }) {
            trial.stopped = .programNeeded(what: "the projection \(lacking.name)")
        }
        var generationSet = target
        generationSet.entries = target.missing.filter(\.definition.isAvailable)
        guard trial.measured > Position(0), !generationSet.entries.isEmpty else { return trial }
        let scratch = try ScratchDirectory.make(target.context)
        defer { scratch.remove() }
        generationSet.root = scratch.path
        var began = Instant.now
        do { _ = try generationSet.build(onError: onError, through: trial.measured) } catch {
            switch error {
            case .buildStopped, .invalidRow: trial.stopped = trial.stopped ?? error
            default: throw error
            }
            // Builds again without stopping, to estimate time and space.
            began = .now
            _ = try generationSet.build(onError: .quarantine, through: trial.measured)
        }
        let scale = Double(events) / Double(trial.measured.rawValue)
        trial.duration = began.duration(to: .now).scaled(by: scale)
        trial.bytes = UInt64(clamping: nearest(Double(try generationSet.bytesOnDisk()) * scale))
        return trial
    }
}

extension Plan {
    /// How many events are examined for what an older version does not show: more than for a rollback, since a plan may take its time.
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
        report.tail = last.position.events(after: flips.reached(target, state) ?? Position(.max))
        report.gone = try evolution.definitions(at: state.live).map(\.name).filter { name in !all.entries.contains { $0.name == name } }
        let loss = try RollbackLoss(context, state, flips, to: target, eventsMax: eventsExamined)
        (report.loss, report.bornAbove, report.sample) = (loss.loss, loss.bornAbove, loss.sample)
        for row in census { report.types.append(try loss.conversion.forecast(of: row)) }
        report.needs = history.missingSwiftSteps(from: state.live, to: target)
        report.quarantined = try models.quarantinedEvents()
        (report.rebuild, report.carry) = (models.missing.map(\.name), models.present.map(\.name))
        try measure(&report, models, census.sum(\.count))
        return report
    }

    /// Measures time and space: of builds on the first events of the log, of following on the first events that a read model lacks.
    private static func measure(_ report: inout PlanReport, _ models: GenerationSet, _ events: UInt64) throws(EvstoreError) {
        let context = models.context
        let last = try context.last().position
        let headers = try models.headers()
        report.rows = headers.sum(\.header.rows)
        report.events = headers.map { last.events(after: $0.header.checkpoint.position) }.max() ?? 0
        do {
            if !models.missing.isEmpty {
                report.events = events
                let trial = try build(models, events, onError: .quarantine)
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
        let began = Instant.now
        try Follower(evolving).catchUp(generation, entry.definition, to: start.position.plus(measured), context.job.silent)
        return began.duration(to: .now).scaled(by: Double(behind) / Double(measured))
    }
}

/// The rollback that is possible from a state of the store, found by the checks that the rollback itself makes.
struct RollbackPlanner {
    let evolving: VersionedLog
    var state: StoreState
    var flips: FlipHistory
    let census: [CensusRow]

    func flipped(to version: SchemaVersion, at position: Position) -> RollbackPlanner {
        var after = self
        if version != state.live { after.flips.add(from: state.live, to: version, at: position) }
        (after.state.live, after.state.top, after.state.head) = (version, max(state.top, version), max(state.head, version))
        return after
    }

    /// Plans the rollback to a version; where it is nil, to the one from which the last replay reached the live one.
    func plan(
        _ context: MigrationContext, to version: SchemaVersion? = nil, without names: Set<String> = []
    ) throws(EvstoreError) -> PlannedRollback {
        let target: SchemaVersion
        do { target = if let version { version } else { try flips.target(nil, state) } } catch {
            guard case .nothingToRollBackTo = error else { throw error }
            return PlannedRollback(refused: PlannedRefusal(error: error))
        }
        var planned = PlannedRollback(to: target)
        var models = try GenerationSet(context, evolving, at: target)
        planned.without = models.entries.filter { !$0.definition.isAvailable }.map(\.name)
        do { _ = try models.leaveBehind(names) } catch {
            guard case .programNeeded = error else { throw error }
            planned.refused = PlannedRefusal(error: error)
        }
        planned.readsRefused = try evolving.current().history.typesDownThroughSwift(from: state.top, to: target).map { step, types in
            let events = census.filter { row in types.contains { $0.type == row.type && $0.version == row.born } }.sum(\.count)
            return RefusedReads(step: step, types: Set(of: types.map(\.type)).sorted().map(\.text), events: events)
        }
        return planned
    }
}
