internal import EventLog
internal import EventModel
public import Migration
internal import Projections

extension EventStore {
    /// What a replay to a version would do: which read models it builds, what events lose, and why it would be refused; changes nothing.
    /// Below the live version it is what ``planRollback(to:without:)`` says.
    ///
    /// Awaits a trial of the steps on a sample of the log's events and on events made from the shapes, on the store's own threads.
    /// - Throws: `EvstoreError`: unknownVersion, belowFloor, schemaInvalid, versionDiffers, interrupted.
    public func plan(to version: SchemaVersion) async throws(EvstoreError) -> PlanReport {
        try await working("plan a replay to \(version)") { (site) async throws(EvstoreError) in
            try Plan.run(site, to: version, files: schemas?.history, definitions: schemas?.definitions)
        }
    }

    /// What a rollback would do: how many events it keeps, what of them the older version does not show, how long it takes, what it would be
    /// refused for, and who can't read afterwards; changes nothing.
    ///
    /// Awaits a look at up to 50,000 of the events that the older version sees through steps down, and a trial of the following of up to
    /// 20,000, on the store's own threads.
    /// - Parameters:
    ///   - version: the one from which the last replay reached the live one where nil.
    ///   - without: Swift read models that it would leave behind.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage where the version is above the live one, unknownVersion,
    ///   unknownProjection, interrupted.
    public func planRollback(
        to version: SchemaVersion? = nil, without: Set<String> = []
    ) async throws(EvstoreError) -> PlanReport {
        try await working("plan a rollback") { (site) async throws(EvstoreError) in try Plan.back(site, to: version, without: without) }
    }

    /// Registers what is new in the schemas given at opening, builds a version's read models beside the live ones, and flips.
    ///
    /// Awaits the whole log, read once by several threads, on the store's own threads; appends and queries go on meanwhile. A failed or
    /// cancelled replay leaves the store as it was.
    /// - Throws: `EvstoreError`: usage where the version is below the live one, unknownVersion, schemaInvalid, versionDiffers,
    ///   consentNeeded, buildStopped, invalidRow, programNeeded, migrationInProgress, verificationFailed, diskFull, interrupted.
    @discardableResult
    public func migrate(
        to version: SchemaVersion, options: MigrationOptions = .init(), progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> MigrationReport {
        try await working("replay to \(version)", progress) { (site) async throws(EvstoreError) in
            try await Replay.run(site, to: version, files: schemas?.history, definitions: schemas?.definitions, options: options)
        }
    }

    /// Returns to an older version's read models, keeping every event; to the one the last replay came from where nil.
    ///
    /// Awaits the folding of what was appended since into the older read models, and one transaction.
    /// - Parameter without: Swift read models to leave behind until a program that has them opens the store.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, belowFloor, usage where the version is above the live one, unknownVersion,
    ///   unknownProjection, programNeeded, migrationInProgress, verificationFailed, interrupted.
    @discardableResult
    public func rollback(
        to version: SchemaVersion? = nil, without: Set<String> = [], progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RollbackReport {
        try await workingWithBallast("roll back" + (version.map { " to \($0)" } ?? ""), progress) { (site) async throws(EvstoreError) in
            try await Rollback.run(site, to: version, without: without)
        }
    }

    /// Cuts the log at a snapshot's position: later events move to the archive, and the epoch grows.
    ///
    /// Awaits the writing of the archive and the building of read models up to the snapshot. Nobody else may have the store open; of a node,
    /// others may: the cut is a frame of the cluster log, and every node archives and cuts when it meets it. Nodes that work above the
    /// snapshot's top are brought down to it.
    /// - Parameters:
    ///   - discardTail: the consent to take events off the log; without it the call throws where there are any.
    ///   - epoch: the consent holds only while the log is in this epoch, so that a call which is repeated cuts once. A node needs it for a
    ///     second cut to one snapshot.
    /// - Throws: `EvstoreError`: unknownSnapshot, consentNeeded, epochChanged where the log was cut below the snapshot before, locked,
    ///   verificationFailed, diskFull; of a node also logUnavailable, and commitOutcomeUnknown where the cut may stand: ask again.
    @discardableResult
    public func rollback(
        toSnapshot name: String, discardTail: Bool, epoch: Epoch? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RollbackReport {
        try await workingWithBallast("roll back to the snapshot \(name)", progress) { (site) async throws(EvstoreError) in
            try await CutRollback.run(site, toSnapshot: name, TailConsent(discardTail: discardTail, epoch: epoch))
        }
    }

    /// Makes the live version the floor: closes the window and deletes read models that no promised version names. No rollback leads back.
    ///
    /// Awaits one transaction on the writing thread, and the removal of files.
    /// - Parameters:
    ///   - version: the live version, named to be sure.
    ///   - leavingConsumers: whether consumers that see events at an older version may be left behind: they end with an error.
    ///   - withoutNodes: nodes of the store's cluster log that are gone: they are taken out of it, and have to join anew.
    /// - Throws: `EvstoreError`: notLive; consentNeeded, which names the consumers and the nodes that would be left behind;
    ///   migrationInProgress, deadlinePassed, interrupted; of a node also logUnavailable.
    @discardableResult
    public func finalize(
        _ version: SchemaVersion, leavingConsumers: Bool = false, withoutNodes: [String] = []
    ) async throws(EvstoreError) -> FinalizeReport {
        try await workingWithBallast("finalize \(version)") { (site) async throws(EvstoreError) in
            try await Finalize.run(site, version, leavingConsumers: leavingConsumers, withoutNodes: withoutNodes)
        }
    }

    /// The events that a version's read models (the working version's where nil) could not take in; reads the lists on the calling thread.
    /// - Throws: `EvstoreError`: unknownProjection.
    ///
    /// Blocks the calling thread for a short read transaction of each read model.
    public func quarantine(
        at version: SchemaVersion? = nil, projection: String? = nil
    ) throws(EvstoreError) -> [QuarantineReport] {
        try Quarantine.list(site(Job("list the quarantine")), at: try effective(version), projection: projection)
    }
}
