internal import EventLog
internal import EventModel
internal import Hashing
public import Migration
package import SchemaEvolution

extension EventStore {
    /// Reports what a replay to a version would do: which read models it builds, what events lose, and why it would be refused. Changes
    /// nothing. Below the live version it reports what ``planRollback(to:without:)`` does.
    ///
    /// Waits while the steps are tried on a sample of the log's events and on events made from the shapes, on the store's own threads.
    /// - Throws: `EvstoreError`: unknownVersion, belowFloor, schemaInvalid, versionDiffers, diskFull, interrupted.
    public func plan(to version: SchemaVersion) async throws(EvstoreError) -> PlanReport {
        try await working("plan a replay to \(version)") { (context) async throws(EvstoreError) in
            try Plan.run(context, to: version, files: schemas?.history, definitions: schemas?.definitions)
        }
    }

    /// Findings about version files that differ from those that the store has registered.
    package func differences(from files: History) throws(EvstoreError) -> [Finding] {
        try Register.differences(context(Job("compare the version files")), from: files)
    }

    /// Reports what a rollback would do: how many events it keeps, which of them the older version does not show, how long it takes, why it
    /// would be refused, and which programs can't read afterwards. Changes nothing.
    ///
    /// Waits while up to 50,000 of the events that the older version sees through down steps are read, and following is tried on up to
    /// 20,000, on the store's own threads.
    /// - Parameters:
    ///   - version: the version to return to, from the floor to the live one. Where nil, the version from which the last replay reached the
    ///     live one, or the floor where that is higher.
    ///   - without: Swift read models that the rollback would leave behind.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage where the version is above the live one, unknownVersion,
    ///   unknownProjection, interrupted.
    public func planRollback(
        to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> PlanReport {
        try await working("plan a rollback") { (context) async throws(EvstoreError) in try Plan.back(context, to: version, without: without)
        }
    }

    /// Registers the new versions of the schemas given at opening, builds a version's read models beside the live ones, and flips.
    ///
    /// Waits while several threads read the whole log once, on the store's own threads; appends and queries continue meanwhile. A failed or
    /// cancelled replay leaves what is live as it was; the registered versions and its snapshot stay, for the next one.
    /// - Throws: `EvstoreError`: usage where the version is below the live one, or `options` has both `only` and `fromEvents`;
    ///   unknownVersion, unknownProjection (`only`), schemaInvalid, versionDiffers, consentNeeded, buildStopped, invalidRow, programNeeded,
    ///   migrationInProgress, verificationFailed, diskFull, interrupted.
    @discardableResult
    public func migrate(
        to version: SchemaVersion, options: MigrationOptions = .init(), progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> MigrationReport {
        try await working("replay to \(version)", progress) { (context) async throws(EvstoreError) in
            try await Replay.run(context, to: version, files: schemas?.history, definitions: schemas?.definitions, options: options)
        }
    }

    /// Returns to an older version's read models and keeps every event.
    ///
    /// Waits while the events appended since then are folded into the older read models, and for one transaction.
    /// - Parameters:
    ///   - version: the version to return to, from the floor to the live one. Where nil, the version from which the last replay reached the
    ///     live one, or the floor where that is higher.
    ///   - without: Swift read models to leave behind until a program that has them opens the store.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage where the version is above the live one, unknownVersion,
    ///   unknownProjection, programNeeded, migrationInProgress, verificationFailed, diskFull, interrupted.
    @discardableResult
    public func rollback(
        to version: SchemaVersion? = nil, without: Set<String> = [], progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RollbackReport {
        try await workingWithBallast("roll back" + (version.map { " to \($0)" } ?? ""), progress) { (context) async throws(EvstoreError) in
            try await Rollback.run(context, to: version, without: without)
        }
    }

    /// Cuts the log at a snapshot's position: later events move to the archive, and the epoch grows.
    ///
    /// Waits while the archive is written and the read models are built up to the snapshot. Nobody else may have the store open. For a node
    /// others may: the cut is a frame of the cluster log, and every node archives and cuts when it reaches the frame. Nodes that work above
    /// the snapshot's top are brought down to it.
    /// - Parameters:
    ///   - name: the name of one of the `snapshots()`; otherwise `unknownSnapshot` is thrown.
    ///   - discardTail: the consent to take events off the log; without it the call throws where there are any.
    ///   - epoch: limits the consent to this epoch of the log, so that a repeated call cuts once. A node needs it for a second cut to one
    ///     snapshot.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: unknownSnapshot, consentNeeded, epochChanged where the log was cut below the snapshot before, locked where
    ///   another process has the store open, migrationInProgress, verificationFailed, diskFull, interrupted; on a node also logUnavailable,
    ///   and commitOutcomeUnknown where the cut may have been made: call again.
    @discardableResult
    public func rollback(
        toSnapshot name: String, discardTail: Bool, epoch: Epoch? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RollbackReport {
        try await workingWithBallast("roll back to the snapshot \(name)", progress) { (context) async throws(EvstoreError) in
            try await CutRollback.run(context, toSnapshot: name, TailConsent(discardTail: discardTail, epoch: epoch))
        }
    }

    /// Makes the live version the floor: closes the window and deletes the read models that no promised version uses. No rollback leads
    /// back.
    ///
    /// Waits for one transaction on the writing thread, and for the removal of files.
    /// - Parameters:
    ///   - version: the live version, which the caller names as a safeguard.
    ///   - leavingConsumers: whether consumers that see events at an older version may be left behind; they then end with an error.
    ///   - withoutNodes: nodes of the store's cluster log that are gone: they are taken out of it, and must join anew.
    /// - Throws: `EvstoreError`: notLive; consentNeeded, which names the consumers and the nodes that would be left behind; usage where
    ///   `withoutNodes` has an unknown name, or that of this node; migrationInProgress, deadlinePassed, interrupted; on a node also
    ///   logUnavailable.
    @discardableResult
    public func finalize(
        _ version: SchemaVersion, leavingConsumers: Bool = false, withoutNodes: [String] = []
    ) async throws(EvstoreError) -> FinalizeReport {
        try await workingWithBallast("finalize \(version)") { (context) async throws(EvstoreError) in
            try await Finalize.run(context, version, leavingConsumers: leavingConsumers, withoutNodes: withoutNodes)
        }
    }

    /// Lists the events in the quarantine of a version's read models (the working version's where nil).
    /// - Throws: `EvstoreError`: unknownProjection.
    ///
    /// Blocks the calling thread for a short read transaction of each read model.
    public func quarantine(
        at version: SchemaVersion? = nil, projection: String? = nil
    ) throws(EvstoreError) -> [QuarantineReport] {
        try Quarantine.list(context(Job("list the quarantine")), at: try effective(version), projection: projection)
    }

    /// Brings the read models of a version that were built up to the log's end, as far as this handle can.
    /// - Returns: a sentence about each that is not there.
    package func catchUpBuilt(at version: SchemaVersion?) async throws(EvstoreError) -> [String] {
        let (version, evolution) = (try effective(version), try evolving.current())
        try requireVersion(version, evolution)
        var sentences: [String] = []
        for definition in try evolution.definitions(at: version) {
            let what = "\(definition.name) at \(version)"
            guard evolution.state.generations[definition.fingerprint.hex] != nil else {
                sentences.append("\(what) was not built")
                continue
            }
            do throws(EvstoreError) {
                let note = try await readModel(of: definition, evolution, to: nil, mayLag: true).note
                guard note.lag > 0 else { continue }
                sentences.append("\(what) is \(counted(note.lag, "event")) behind" + (note.reason.map { ": \($0)" } ?? ""))
            } catch {
                if case .interrupted = error { throw error }
                sentences.append("\(what) could not take in the newest events: \(error.message)")
            }
        }
        return sentences
    }

    /// Hands over what `quarantine(at:)` lists, one by one.
    package func forEachQuarantined(
        at version: SchemaVersion?, _ body: (QuarantineReport) throws -> Void
    ) throws {
        try Quarantine.forEach(context(Job("list the quarantine")), at: try effective(version), body)
    }

    /// The entries of one event in the quarantine of a version's read models: one for each read model that lacks it.
    package func quarantine(at version: SchemaVersion?, position: Position) throws(EvstoreError) -> [QuarantineReport] {
        try Quarantine.list(context(Job("list the quarantine")), at: try effective(version), position: position)
    }

    /// Names the log's end as a restore point. Waits for the read models of the live version, whose digests it records, and for one
    /// transaction.
    /// - Throws: `EvstoreError`: snapshotExists, usage where the name can't be one, deadlinePassed, diskFull, interrupted.
    public func takeSnapshot(_ name: String) async throws(EvstoreError) -> SnapshotReport {
        try await workingWithBallast("take the snapshot \(name)") { (context) async throws(EvstoreError) in
            try await Snapshot.take(context, name: name)
        }
    }

    /// Returns every snapshot, oldest first.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func snapshots() throws(EvstoreError) -> [SnapshotReport] { try Snapshot.list(log) }
}
