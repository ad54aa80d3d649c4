internal import Bytes
internal import EventLog
package import EventModel
internal import Logging
internal import Platform
package import Projections
package import SchemaEvolution

/// Takes a store to a version: builds its read models from the stored events beside the live ones, then flips once. Until the flip nothing
/// that is read changes; after a kill, running it again completes it.
package enum Replay {
    /// Replays. `files` and `definitions` are what the caller has beyond the store's own; nil where it has nothing.
    package static func run(
        _ context: MigrationContext, to version: SchemaVersion, files: History? = nil, definitions: DefinitionSet? = nil,
        options: MigrationOptions = .init()
    ) async throws(EvstoreError) -> MigrationReport {
        let began = Instant.now
        if options.fromEvents, let only = options.only {
            throw .usage(
                "a replay from events makes what it builds live; one of \(only) alone makes nothing live", fix: "give one of the two")
        }
        if options.dryRun {
            let register = try Register(context, files: files, definitions: definitions, through: version)
            return try dryRun(context, register, to: version, options, began)
        }
        try context.log.requireOwn()
        return try await context.locked { () async throws(EvstoreError) in
            let register = try Register(context, files: files, definitions: definitions, through: version)
            return try await locked(context, register, to: version, options, began)
        }
    }

    private static func locked(
        _ context: MigrationContext, _ register: Register, to version: SchemaVersion, _ options: MigrationOptions,
        _ began: Instant
    ) async throws(EvstoreError) -> MigrationReport {
        let live = register.state.live
        if options.only == nil, version < live {
            throw .usage(
                "\(version) is below the live version \(live): a replay goes up", fix: "go down by a rollback: \(.rollback(to: version))")
        }
        if version != live { try register.history.requireSwiftSteps(through: version) }
        try Consent.requireForSteps(register.history, from: register.state, to: version, given: options.yes)
        let state = try await register.write(context)
        var generationSet = try GenerationSet(context, register.evolving(context), at: version, only: options.only)
        if !options.fromEvents { try generationSet.find(state, acceptingQuarantine: options.onError == .quarantine) }
        var report = MigrationReport(from: live, to: version)
        report.position = try context.last().position
        if generationSet.isLive(in: state) && !register.defersDefinitions {
            // The digests that are reported are those at the position that is reported.
            try generationSet.follow()
            return try finish(report, generationSet, [], began)
        }

        let start = report.position
        context.logger.info(
            "a replay begins", metadata: ["from": "\(live)", "to": "\(version)", "position": "\(start)", "store": "\(context.store)"])
        // Rebuilding the live version from events leaves no earlier state to return to, so it needs no snapshot.
        let isMended = options.fromEvents && version == live
        if options.only == nil, !isMended {
            let snapshot = try await Snapshot.takeBefore(version, context)
            context.job.report("snapshot", "\(snapshot.name) at position \(snapshot.position)")
            report.snapshot = snapshot.name
        }
        try GenerationSweep.run(context)
        MigrationPhase.reached(.sweepAfter)
        do {
            let trial = try SampleTrial(context, generationSet, jobs: options.jobs)
            let (mapped, folded) = try alongside({ trial.begin() }) { () throws(EvstoreError) in
                let mapped = try options.fromEvents ? (entries: [], rows: 0) : generationSet.map(LiveRows(context, state))
                return (mapped, try generationSet.build(onError: options.onError, jobs: options.jobs))
            }
            MigrationPhase.reached(.buildAfter)
            try count(&report, folded, context)
            (report.fromRows, report.rows) = (mapped.entries.map(\.name), mapped.rows)
            let built = mapped.entries + folded
            let order = Flip.Order(
                cause: .replay, planned: state, generationSet: generationSet, definitions: register.defersDefinitions ? register : nil,
                began: began)
            if let flip = try await settle(order, built, trial, options, context) {
                (report.position, report.flipBegan, report.flipPause) = (flip.position, flip.began, flip.pause)
            }
            report.arrived = report.position.events(after: start)
            let done = try finish(report, generationSet, built, began)
            context.logger.info(
                "a replay ended",
                metadata: [
                    "to": "\(version)", "events": "\(done.events)", "rebuilt": "\(done.rebuilt.joined(separator: " "))",
                    "quarantined": "\(done.quarantined)", "seconds": "\(done.duration / .seconds(1))",
                ])
            return done
        } catch {
            context.logger.info("a replay was stopped", metadata: ["to": "\(version)", "error": .stringConvertible(error.advised)])
            await note(error, from: live, to: version, context, began)
            throw error
        }
    }

    /// Follows, checks and flips; follows again where appends were faster. Returns nil where only some read models were built: no flip.
    private static func settle(
        _ order: Flip.Order, _ built: [GenerationSet.Entry], _ trial: SampleTrial, _ options: MigrationOptions, _ context: MigrationContext
    ) async throws(EvstoreError) -> Flip.Outcome? {
        let (from, to) = (order.planned.live, order.generationSet.version)
        var (order, isVerified) = (order, false)
        while true {
            try context.job.check()
            try order.generationSet.follow()
            MigrationPhase.reached(.catchUpAfter)
            if options.onError == .stop { try order.generationSet.requireNoneQuarantined(among: built) }
            if !isVerified { try verify(order.generationSet, trial, from: from, options, context) }
            isVerified = true
            MigrationPhase.reached(.readyAfter)
            if options.only != nil { return nil }
            let quarantined = try order.generationSet.quarantinedEvents()
            order.outcome = quarantined == 0 ? "done" : "done, \(quarantined) quarantined"
            guard let flip = try await Flip.run(order, context) else { continue }
            context.logger.info(
                "flipped to another version",
                metadata: ["live": "\(to)", "position": "\(flip.position)", "milliseconds": "\(flip.milliseconds)"])
            context.job.report("flip", "\(to) is live at position \(flip.position)")
            return flip
        }
    }

    private static func verify(
        _ generationSet: GenerationSet, _ trial: SampleTrial, from: SchemaVersion, _ options: MigrationOptions, _ context: MigrationContext
    ) throws(EvstoreError) {
        try generationSet.verify(rowsMax: .max)
        if options.refusesRows { try generationSet.requireRowShapes() }
        let laws = try trial.result(with: generationSet.witnesses)
        if options.onError == .stop, let failure = laws.firstFailure { throw failure }
        try Consent.requireForLoss(
            laws, generationSet.evolving.current().history, from: from, to: generationSet.version, given: options.yes)
        MigrationPhase.reached(.verifyAfter)
        context.job.report("verify", done: laws.events, total: laws.events, "counts, digests, laws on \(laws.events) events: ok")
    }

    /// Builds every read model of the version in a scratch directory, which is removed afterwards.
    private static func dryRun(
        _ context: MigrationContext, _ register: Register, to version: SchemaVersion, _ options: MigrationOptions,
        _ began: Instant
    ) throws(EvstoreError) -> MigrationReport {
        try register.history.requireSwiftSteps(through: version)
        try Consent.requireForSteps(register.history, from: register.state, to: version, given: options.yes)
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        var generationSet = try GenerationSet(context, register.evolving(context), at: version, only: options.only, root: scratch.path)
        var report = MigrationReport(from: register.state.live, to: version)
        report.position = try context.last().position
        let trial = try SampleTrial(context, generationSet, jobs: options.jobs)
        let end = report.position
        let built = try alongside({ trial.begin() }) { () throws(EvstoreError) in
            try generationSet.build(onError: options.onError, jobs: options.jobs, through: end)
        }
        try count(&report, built, context)
        try verify(generationSet, trial, from: report.from, options, context)
        return try finish(report, generationSet, built, began)
    }

    private static func count(
        _ report: inout MigrationReport, _ built: [GenerationSet.Entry], _ context: MigrationContext
    ) throws(EvstoreError) {
        guard !built.isEmpty else { return }
        let census = try context.census()
        report.events = census.sum(\.count)
        report.upcast = census.sum { $0.born == report.to ? 0 : $0.count }
    }

    private static func finish(
        _ report: MigrationReport, _ generationSet: GenerationSet, _ built: [GenerationSet.Entry], _ began: Instant
    ) throws(EvstoreError) -> MigrationReport {
        var report = report
        report.rebuilt = built.map(\.name)
        report.carried = generationSet.entries.map(\.name).filter { !report.rebuilt.contains($0) }
        report.quarantined = try generationSet.quarantinedEvents()
        report.digests = try generationSet.digests()
        report.duration = began.duration(to: .now)
        report.eventsPerSecond = report.duration > .zero ? Double(report.events) / report.duration.inSeconds : 0
        return report
    }

    /// Records a failed replay in the journal. Its registered versions and its snapshot also stay: the next replay goes on with both.
    private static func note(
        _ error: EvstoreError, from: SchemaVersion, to: SchemaVersion, _ context: MigrationContext, _ began: Instant
    ) async {
        // This replay is planned again.
        if case .migrationInProgress = error { return }
        let duration = began.duration(to: .now)
        // A task of its own also records a cancelled replay.
        let noting = Task {
            try await context.log.update { update in
                let outcome = "\(error.code): \(error.message)"
                let position = update.last.position
                try Journal.append(
                    .init(.replay, from: from, to: to, position: position, duration: duration, outcome: outcome), to: &update)
            }
        }
        do { try await noting.value } catch {
            // The caller gets the first error; this one is logged.
            context.warn("the failed replay could not be written to the journal", error)
        }
    }
}
