internal import EventModel
internal import Migration
internal import Projections

extension EventStore {
    /// Backs up into a directory that is this store's own: what came since its newest run, whose blocks are shared, read
    /// again when it is written. Others go on reading and appending.
    ///
    /// - Parameter keep: forgets all runs but that many afterwards; nil keeps all.
    /// - Throws: `EvstoreError`: otherBackup, locked, epochChanged (run it again), diskFull, interrupted.
    public func backUp(
        into directory: String, keeping keep: Int? = nil, cancellation: Cancellation? = nil, progress: Progress? = nil
    ) throws(EvstoreError) -> BackupReport {
        try Backup.run(site(again: "evstore backup \(directory)", cancellation, progress: progress), into: directory, keep: keep)
    }

    /// Gives a whole backup, piece by piece, to `sink`: for a pipe, or an object store. No transaction is open while that runs.
    public func backUp(
        cancellation: Cancellation? = nil, progress: Progress? = nil, to sink: ([UInt8]) throws -> Void
    ) throws(EvstoreError) -> BackupReport {
        try Backup.run(site(again: "evstore backup -", cancellation, progress: progress), to: sink)
    }

    /// Makes a store at `store` from a backup's directory, whose newest run is taken, or its file: whole, or not at all. Its read
    /// models are built when they are asked for.
    ///
    /// - Parameter target: nil restores all; a position within an append is rounded down to the end of the append before.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    public static func restore(
        from backup: String, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        cancellation: Cancellation? = nil, progress: Progress? = nil
    ) async throws(EvstoreError) -> RestoreReport {
        try await Restore.run(from: backup, into: store, to: target, options: options, cancellation: cancellation, progress: progress)
    }

    /// The same from anything that gives bytes: `source` gives as many as it is asked for, fewer only at the end.
    public static func restore(
        named name: String, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        cancellation: Cancellation? = nil, progress: Progress? = nil, from source: @escaping (Int) throws -> [UInt8]
    ) async throws(EvstoreError) -> RestoreReport {
        try await Restore.run(
            from: source, named: name, into: store, to: target, options: options, cancellation: cancellation, progress: progress)
    }
}
