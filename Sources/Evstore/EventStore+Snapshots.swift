internal import EventLog
internal import EventModel
internal import Hashing
internal import Migration
internal import Projections

extension EventStore {
    /// Names the log's end as a restore point. Awaits the read models of the live version, whose digests it notes, and one transaction.
    /// - Throws: `EvstoreError`: snapshotExists, usage where the name can't be one, deadlinePassed, interrupted.
    public func takeSnapshot(_ name: String) async throws(EvstoreError) -> SnapshotReport {
        try await working { (_) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in
                try await Snapshot.take(site("take the snapshot \(name)"), name: name)
            }
        }
    }

    /// Every snapshot, oldest first; one short read transaction on the calling thread.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func snapshots() throws(EvstoreError) -> [SnapshotReport] { try Snapshot.list(log) }

    /// Removes all snapshots but the newest `count`; returns the names of those removed. Awaits one transaction.
    /// - Throws: `EvstoreError`: usage where `count` is negative, deadlinePassed, interrupted.
    public func pruneSnapshots(keeping count: Int) async throws(EvstoreError) -> [String] {
        try await working { (_) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in
                try await Snapshot.prune(site("prune the snapshots"), keeping: count)
            }
        }
    }

    /// Compares a snapshot (every one where nil) with the log, and with read models that still stand at its position; what differs is a
    /// finding. Reads on the calling thread.
    /// - Throws: `EvstoreError.unknownSnapshot`.
    ///
    /// Blocks the calling thread for as long as there are events and rows; it waits for the disk alone.
    public func verifySnapshots(_ name: String? = nil) throws(EvstoreError) -> [Finding] {
        let chosen = if let name { [try Snapshot.named(name, log)] } else { try Snapshot.list(log) }
        let evolution = try evolving.current()
        var findings: [Finding] = []
        for snapshot in chosen {
            if let reason = try difference(snapshot) {
                findings.append(
                    Finding(
                        id: "STORE301", position: snapshot.position, message: "the snapshot \(snapshot.name): \(reason)",
                        advice: "it can't be gone back to: \(.pruneSnapshots), or restore a backup"))
            }
            for noted in snapshot.generations where evolution.state.generations[noted.fingerprint] == noted.directory {
                guard let digest = noted.digest, let header = try header(of: noted.fingerprint, evolution.state),
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

    /// Why the log is no longer what a snapshot named; nil where it is.
    private func difference(_ snapshot: SnapshotReport) throws(EvstoreError) -> String? {
        do { try requireValid(Checkpoint(epoch: snapshot.epoch, position: snapshot.position)) } catch EvstoreError.epochChanged(_, let cut)
        {
            return "a cut at position \(cut.position) took off what it names"
        }
        let link = try converting(at: path) { try log.read { reader in try reader.link(at: snapshot.position) } }
        return snapshot.position == .start || link?.hex == snapshot.link ? nil : "the log at its position has another link"
    }
}
