internal import EventLog
internal import EventModel
public import LogKeeping
public import Migration
internal import Projections

extension EventStore {
    /// What a replay to a version would do: which read models it builds, what events lose, and why it would be refused; changes nothing.
    /// Below the live version it is what ``planRollback(to:without:cancellation:)`` says.
    ///
    /// Awaits a trial of the steps on a sample of the log's events and on events made from the shapes, on the store's own threads.
    /// - Throws: `EvstoreError`: unknownVersion, belowFloor, schemaInvalid, versionDiffers, interrupted.
    public func plan(to version: SchemaVersion, cancellation: Cancellation? = nil) async throws(EvstoreError) -> PlanReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try Plan.run(
                site("plan a replay to \(version)", cancellation), to: version, files: schemas?.history,
                definitions: schemas?.definitions)
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
        to version: SchemaVersion? = nil, without: Set<String> = [], cancellation: Cancellation? = nil
    ) async throws(EvstoreError) -> PlanReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try Plan.back(site("plan a rollback", cancellation), to: version, without: without)
        }
    }

    /// Registers what is new in the schemas given at opening, builds a version's read models beside the live ones, and flips.
    ///
    /// Awaits the whole log, read once by several threads, on the store's own threads; appends and queries go on meanwhile. A failed or
    /// cancelled replay leaves the store as it was.
    /// - Throws: `EvstoreError`: usage where the version is below the live one, unknownVersion, schemaInvalid, versionDiffers,
    ///   consentNeeded, buildStopped, invalidRow, programNeeded, migrationInProgress, verificationFailed, diskFull, interrupted.
    @discardableResult
    public func migrate(
        to version: SchemaVersion, options: MigrationOptions = .init(), cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> MigrationReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try await Replay.run(
                site("replay to \(version)", cancellation, progress: progress), to: version, files: schemas?.history,
                definitions: schemas?.definitions, options: options)
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
        to version: SchemaVersion? = nil, without: Set<String> = [], cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RollbackReport {
        let task = "roll back" + (version.map { " to \($0)" } ?? "")
        return try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in
                try await Rollback.run(site(task, cancellation, progress: progress), to: version, without: without)
            }
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
        return try await working { (_) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in
                try await CutRollback.run(
                    site("roll back to the snapshot \(name)", progress: progress), toSnapshot: name,
                    TailConsent(discardTail: discardTail, epoch: epoch))
            }
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
        try await working { (_) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in
                try await Finalize.run(site("finalize \(version)"), version, leavingConsumers: leavingConsumers, withoutNodes: withoutNodes)
            }
        }
    }
}

extension EventStore {
    /// What was registered, replayed, flipped, rolled back and so on, oldest first; one read transaction on the calling thread.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func journal() throws(EvstoreError) -> [JournalRow] { try Journal.list(log) }

    /// The newest rows of the journal, newest first; no others are read.
    ///
    /// Blocks the calling thread for one short read transaction.
    package func journal(newest limit: Int) throws(EvstoreError) -> [JournalRow] {
        var rows: [JournalRow] = []
        if limit < 1 { return rows }
        try Journal.readBackwards(log) { row in
            rows.append(row)
            return rows.count < limit
        }
        return rows
    }

    /// The events that a version's read models (the working version's where nil) could not take in; reads the lists on the calling thread.
    /// - Throws: `EvstoreError`: unknownProjection.
    ///
    /// Blocks the calling thread for a short read transaction of each read model.
    public func quarantine(
        at version: SchemaVersion? = nil, projection: String? = nil
    ) throws(EvstoreError) -> [QuarantineReport] {
        try Quarantine.list(site("list the quarantine"), at: try effective(version), projection: projection)
    }

    /// Builds the read models that have quarantined events anew, beside the live ones, and flips to those that lack fewer.
    ///
    /// Awaits the whole log for these read models, on the store's own threads.
    /// - Throws: `EvstoreError`: migrationInProgress, programNeeded, diskFull, interrupted.
    public func retryQuarantine(
        cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> QuarantineRetryReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try await Quarantine.retry(site("retry the quarantine", cancellation, progress: progress))
        }
    }

    /// Checks checksums, hash chain, positions and indexes; `deep` also the read models' digests, `laws` the steps on the
    /// log's events and on events made from the shapes, the same ones for the same `seed`. What is wrong is a finding, not an error.
    ///
    /// With `key`, a store without errors gets a signed head (`VerifyReport.head`): it says where the log ends, and which versions,
    /// definitions, keys and forgotten streams there are. Keep it away from the store, and give it as the last of `heads` later: whatever
    /// is no longer as it was signed is a finding, STORE101 to STORE113. Each head but the first has to name the one before it, as the new
    /// one names the last.
    ///
    /// Awaits a walk over the whole log on the store's own threads; `deep` reads every row of the read models too, and `laws` builds them
    /// anew.
    ///
    /// - Parameters:
    ///   - heads: oldest first, such as `SignedHead.series(parsing:)` gives.
    ///   - trusted: who must have signed `heads`; the owner of `key` where it is nil.
    ///   - isAccepted: whether a cut or a changed definition (STORE104, STORE108) was meant: they are warnings then.
    /// - Throws: `EvstoreError`: signatureInvalid where another key signed `heads`, epochChanged where the log was cut meanwhile (run it
    ///   again), programNeeded with `laws`, interrupted.
    public func verify(
        deep: Bool = false, laws: Bool = false, seed: UInt64? = nil, signing key: SigningKey? = nil, since heads: [SignedHead] = [],
        trusting trusted: PublicKey? = nil, accepting isAccepted: Bool = false, cancellation: Cancellation? = nil,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> VerifyReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try Verify.run(
                site("verify the store", cancellation, progress: progress), deep: deep, laws: laws, seed: seed, signing: key,
                since: heads, trusting: trusted, accepting: isAccepted)
        }
    }
}
