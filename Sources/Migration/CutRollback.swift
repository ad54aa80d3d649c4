internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing
internal import Logging
internal import Projections

/// Going back to a snapshot's position by cutting the log there: what came later moves to the archive. On a node of a cluster log the cut
/// is a frame, and every node archives and cuts when it meets it.
package enum CutRollback {
    /// - Throws: `EvstoreError.consentNeeded` unless `consent` is to this tail; `epochChanged` where the snapshot lies beyond an
    ///   earlier cut; `locked` while another process has the store open.
    package static func run(
        _ site: MigrationSite, toSnapshot name: String, _ consent: TailConsent
    ) async throws(EvstoreError) -> RollbackReport {
        let began = ContinuousClock.now
        try site.log.requireOwn()
        let snapshot = try Snapshot.named(name, site.log)
        let isNode = site.log.membership != nil
        // A node meets the cuts of others while programs have it open, and so its own.
        let lock = isNode ? try MigrationLock.take(site) : try MigrationLock.takeExclusively(site)
        defer { lock.release() }
        if isNode { try await awaiting { try await site.log.takeInFrames() } }
        let (state, last) = (try site.state(), try site.last())
        try requireSame(snapshot, site)
        var report = RollbackReport(from: state.live, to: snapshot.live, position: snapshot.position)
        report.tail = last.position.events(after: snapshot.position)
        if report.tail > 0 { try consent.require(to: report.tail, after: snapshot, site, state.epoch) }
        try GenerationSweep.run(site)
        var generationSet = try generationSet(site, snapshot, state)
        let isThere = report.tail == 0 && state.isAs(snapshot) && generationSet.isLive(in: state)
        if !isThere {
            if report.tail > 0, !isNode { report.archive = try await Archive.write(site, after: snapshot.position, through: last) }
            // Order: read models are built and compared before the cut, so that they are there at every moment.
            report.rebuilt = try generationSet.build(site, onError: .quarantine, through: snapshot.position).map(\.name)
            MigrationPhase.reached(.cutRebuilt)
            report.differing = try generationSet.differing(from: snapshot, site)
            let end = try await cut(site, snapshot, generationSet, state, report)
            if isNode, end.position > snapshot.position {
                report.tail = end.position.events(after: snapshot.position)
                report.archive = Archive.path(in: site.store, after: snapshot.position, through: end)
                do { try await adopt(generationSet, site) } catch {
                    // Whoever asks for them finds them: the cut is made, and to fail now would have it made again.
                    site.logger.warning("naming the read models behind a cut: \(error)")
                }
            }
            MigrationPhase.reached(.cutAfter)
            try GenerationSweep.run(site, keepingReady: try GenerationSet.fingerprints(site, from: snapshot.floor, through: snapshot.top))
            MigrationPhase.reached(.pruneAfter)
        }
        report.seconds = began.duration(to: .now).inSeconds
        return report
    }

    /// The live read models of the snapshot, as far as they have not gone beyond it; projections in Swift that this
    /// program lacks are left to their own program.
    private static func generationSet(
        _ site: MigrationSite, _ snapshot: SnapshotReport, _ state: StoreState
    ) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(site, site.evolving, at: snapshot.live)
        generationSet.entries.removeAll { !$0.definition.isAvailable }
        try generationSet.find(site, state, acceptingQuarantine: true, through: snapshot.position)
        return generationSet
    }

    private static func requireSame(_ snapshot: SnapshotReport, _ site: MigrationSite) throws(EvstoreError) {
        let seen = Checkpoint(epoch: snapshot.epoch, position: snapshot.position)
        let (cuts, link) = try site.log.reading { reader in (try reader.cuts(), try reader.link(at: snapshot.position)) }
        if let cut = seen.cutOff(by: cuts) { throw .epochChanged(seen: seen, cut: cut) }
        // A snapshot taken right after a cut noted the link that its epoch began with, which no block holds.
        if snapshot.position == .start || cuts.contains(seen) { return }
        guard link?.hex == snapshot.link else {
            throw .verificationFailed(
                reason: "the log at position \(snapshot.position) is not what the snapshot \(snapshot.name) noted; nothing was changed")
        }
    }

    /// - Returns: where the log ended before. On a node that may be further than `report` says: others append meanwhile.
    private static func cut(
        _ site: MigrationSite, _ snapshot: SnapshotReport, _ generationSet: GenerationSet, _ planned: StoreState, _ report: RollbackReport
    ) async throws(EvstoreError) -> Checkpoint {
        let kept = try GenerationSweep.mapped(site, planned, through: snapshot.position)
        let digest = try generationSet.digest(site)
        return try await site.log.changing { update in
            try update.requireStamp(of: planned)
            let end = update.last
            guard end.position == snapshot.position.plus(report.tail) || update.node != nil && report.tail > 0 else {
                throw EvstoreError.verificationFailed(reason: "events were appended meanwhile; nothing was cut")
            }
            if report.tail > 0 { try update.cut(to: snapshot.position, note: snapshot.name) }
            // What no node below could take in is never offered.
            if let below = try update.nodes().first(where: { $0.live < snapshot.floor && $0.name != update.node?.node }) {
                throw EvstoreError.verificationFailed(
                    reason: "node \(below.name) is at \(below.live), below the snapshot's floor \(snapshot.floor); nothing was changed")
            }
            try update.lowerNodes(to: snapshot.top)
            update.state.generations = kept
            for entry in generationSet.entries { update.state.generations[entry.fingerprint] = entry.directory }
            (update.state.floor, update.state.live, update.state.top) = (snapshot.floor, snapshot.live, snapshot.top)
            try update.state.checkNumbers()
            let differs = report.differing.isEmpty ? "" : "; not as noted: \(report.differing.joined(separator: ", "))"
            let outcome = "to \(snapshot.name), \(report.tail) events archived\(differs)"
            try Journal.append(
                .init(.cut, from: planned.live, to: snapshot.live, position: snapshot.position, outcome: outcome, digest: digest),
                to: &update)
            MigrationPhase.reached(.cutInside)
            return end
        }
    }

    /// Names the read models that were built before a node's cut: those that it had may have gone beyond it.
    private static func adopt(_ generationSet: GenerationSet, _ site: MigrationSite) async throws(EvstoreError) {
        try await site.log.changing { update in
            for entry in generationSet.entries { update.state.generations[entry.fingerprint] = entry.directory }
        }
    }
}

extension StoreState {
    /// Versions that the store has learned since stay known: its head may be higher.
    fileprivate func isAs(_ snapshot: SnapshotReport) -> Bool {
        (floor, live, top) == (snapshot.floor, snapshot.live, snapshot.top)
    }
}
