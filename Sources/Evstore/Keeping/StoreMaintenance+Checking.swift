internal import EventLog
public import EventModel
internal import Hashing
public import LogKeeping
public import Migration
internal import Projections

extension StoreMaintenance {
    /// Returns the journal: what was registered, replayed, flipped, rolled back and so on, oldest first.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func journal() throws(EvstoreError) -> [JournalRow] { try Journal.list(log) }

    /// Returns the newest rows of the journal, newest first; reads no others.
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

    /// Rebuilds the read models that have events in quarantine, beside the live ones, and flips to those that lack fewer.
    ///
    /// Waits while the whole log is read for these read models, on the store's own threads.
    /// - Throws: `EvstoreError`: migrationInProgress, programNeeded, diskFull, interrupted.
    public func retryQuarantine(progress: ProgressHandler? = nil) async throws(EvstoreError) -> QuarantineRetryReport {
        try await store.working("retry the quarantine", progress) { (context) async throws(EvstoreError) in
            try await Quarantine.retry(context)
        }
    }

    /// Checks checksums, hash chain, positions and indexes. Damage is a finding, not an error.
    ///
    /// With `key`, a store without errors gets a signed head (`VerifyReport.head`). It records where the log ends, and which versions,
    /// definitions, keys and forgotten streams there are. Keep it outside the store, and pass it as the last of `heads` later: each
    /// difference from what was signed is a finding, STORE101 to STORE113. Each head but the first has to name the one before it; the new
    /// one names the last.
    ///
    /// Waits for a walk over the whole log on the store's own threads; `deep` also reads every row of the read models, and `laws` rebuilds
    /// them.
    ///
    /// - Parameters:
    ///   - deep: whether it also follows each event's pointers, opens the events of a sealed store, and computes the read models' digests
    ///     from their rows.
    ///   - laws: whether it also checks the steps, on the log's events and on events that are generated from the shapes.
    ///   - seed: the seed of the generated events: the same seed and store give the same events. Where nil, a random one, which the report
    ///     names. Without `laws` it has no effect.
    ///   - key: signs the new head; nil makes none.
    ///   - heads: the earlier heads, oldest first, such as `SignedHead.series(parsing:)` returns.
    ///   - trusted: the key that must have signed `heads`; the owner of `key` where nil.
    ///   - isAccepted: whether a cut or a changed definition (STORE104, STORE108) was intended: then it is a warning.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: signatureInvalid where another key signed `heads`, epochChanged where the log was cut meanwhile (run it
    ///   again), programNeeded with `laws`, interrupted.
    public func verify(
        deep: Bool = false, laws: Bool = false, seed: UInt64? = nil, signing key: SigningKey? = nil, since heads: [SignedHead] = [],
        trusting trusted: PublicKey? = nil, accepting isAccepted: Bool = false, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> VerifyReport {
        try await store.working("verify the store", progress) { (context) async throws(EvstoreError) in
            try Verify.run(
                context, deep: deep, laws: laws, seed: seed, signing: key, since: heads, trusting: trusted, accepting: isAccepted)
        }
    }
}

extension StoreMaintenance {
    /// Removes all snapshots but the newest `count` that can be gone back to; returns the names of the removed ones. Waits for one transaction.
    /// - Throws: `EvstoreError`: usage where `count` is negative, deadlinePassed, interrupted.
    public func pruneSnapshots(keeping count: Int) async throws(EvstoreError) -> [String] {
        try await store.workingWithBallast("prune the snapshots") { (context) async throws(EvstoreError) in
            try await Snapshot.prune(context, keeping: count)
        }
    }

    /// Compares a snapshot (every one where nil) with the log, and with read models that are still at its position; each difference is a
    /// finding. Blocks the calling thread for a short read of each snapshot.
    /// - Throws: `EvstoreError.unknownSnapshot`.
    public func verifySnapshots(_ name: String? = nil) throws(EvstoreError) -> [Finding] {
        let chosen = if let name { [try Snapshot.named(name, log)] } else { try Snapshot.list(log) }
        let evolution = try store.evolving.current()
        var findings: [Finding] = []
        for snapshot in chosen {
            if let reason = try difference(snapshot) {
                findings.append(
                    Finding(
                        id: "STORE301", position: snapshot.position, message: "the snapshot \(snapshot.name): \(reason)",
                        advice: "it can't be gone back to: \(.pruneSnapshots), or restore a backup"))
            }
            // Without the data that was forgotten since, read models have other digests.
            if try Journal.hasForgotten(since: snapshot, log) { continue }
            for noted in snapshot.generations where evolution.state.generations[noted.fingerprint] == noted.directory {
                guard let digest = noted.digest, let header = try store.header(of: noted.fingerprint, evolution.state),
                    header.checkpoint.position == snapshot.position, header.digest.hex != digest
                else {
                    continue
                }
                findings.append(
                    Finding(
                        id: "STORE302", position: snapshot.position,
                        message: "\(noted.projection) is not what the snapshot \(snapshot.name) noted, at the same position",
                        advice: "\(.verifyDeep)"))
            }
        }
        return findings
    }

    /// Why the log no longer matches a snapshot; nil where it does.
    private func difference(_ snapshot: SnapshotReport) throws(EvstoreError) -> String? {
        do { return try snapshot.isOf(log) ? nil : "the log at its position has another link" } catch EvstoreError.epochChanged(_, let cut)
        {
            return "a cut at position \(cut.position) took off what it names"
        }
    }
}
