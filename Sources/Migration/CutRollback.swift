internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing
internal import Logging
internal import Projections

/// Goes back to a snapshot's position by cutting the log there: later events move to the archive. On a node of a cluster log the cut is a
/// frame, and every node archives and cuts when it reaches the frame.
package enum CutRollback {
    /// - Throws: `EvstoreError.consentNeeded` unless `consent` covers this tail; `epochChanged` where the snapshot lies beyond an earlier
    ///   cut; `locked` while another process has the store open.
    package static func run(
        _ context: MigrationContext, toSnapshot name: String, _ consent: TailConsent
    ) async throws(EvstoreError) -> RollbackReport {
        let began = ContinuousClock.now
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
        report.tail = last.position.events(after: snapshot.position)
        if report.tail > 0 { try consent.require(to: report.tail, after: snapshot, context, state.epoch) }
        try GenerationSweep.run(context)
        var generationSet = try generationSet(context, snapshot, state)
        // The head may be higher than the snapshot's, since registered versions stay known.
        let hasNumbers = (state.floor, state.live, state.top) == (snapshot.floor, snapshot.live, snapshot.top)
        let isThere = report.tail == 0 && hasNumbers && generationSet.isLive(in: state)
        if !isThere {
            if report.tail > 0, !isNode { report.archive = try await Archive.write(context, after: snapshot.position, through: last) }
            // Order: read models are built and compared before the cut, so that they are available at every moment.
            report.rebuilt = try generationSet.build(context, onError: .quarantine, through: snapshot.position).map(\.name)
            MigrationPhase.reached(.cutRebuilt)
            let differing = try generationSet.differing(from: snapshot, context)
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
                    context.logger.warning("the read models behind a cut could not be registered: \(error.advised)")
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

    /// The live read models of the snapshot, except those that have gone beyond it. Projections in Swift that this program lacks are left
    /// to their own program.
    private static func generationSet(
        _ context: MigrationContext, _ snapshot: SnapshotReport, _ state: StoreState
    ) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(context, context.evolving, at: snapshot.live)
        generationSet.entries.removeAll { !$0.definition.isAvailable }
        try generationSet.find(context, state, acceptingQuarantine: true, through: snapshot.position)
        return generationSet
    }

    /// - Returns: the end of the log before the cut. On a node it may be further than `report` says, since others append meanwhile.
    private static func cut(
        _ context: MigrationContext, _ snapshot: SnapshotReport, _ generationSet: GenerationSet, _ planned: StoreState,
        _ report: RollbackReport
    ) async throws(EvstoreError) -> Checkpoint {
        let kept = try GenerationSweep.mapped(context, planned, through: snapshot.position)
        let digest = try generationSet.digest(context)
        return try await context.log.changing { update in
            try update.requireStamp(of: planned)
            let end = update.last
            guard end.position == snapshot.position.plus(report.tail) || update.node != nil && report.tail > 0 else {
                throw EvstoreError.verificationFailed(reason: "events were appended meanwhile; nothing was cut")
            }
            if report.tail > 0 { try update.cut(to: snapshot.position, note: snapshot.name) }
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
