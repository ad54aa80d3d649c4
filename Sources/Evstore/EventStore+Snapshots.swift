internal import EventLog
internal import EventModel
internal import Hashing
internal import Migration
internal import Projections

extension EventStore {
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
