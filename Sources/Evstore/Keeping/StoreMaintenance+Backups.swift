internal import EventModel
public import LogKeeping
internal import Projections

extension StoreMaintenance {
    /// Adds a run to a directory of this store's backups: writes what was appended since the newest run, shares the rest with it, and reads
    /// again what it has written. Others go on reading and appending.
    ///
    /// Blocks the calling thread; its cost grows with what was appended since the newest run, the first run's with the log.
    /// - Parameter keep: removes all runs but the newest that many afterwards; nil keeps all.
    /// - Throws: `EvstoreError`: otherBackup, locked, epochChanged (run it again), diskFull, interrupted.
    public func backUp(
        into directory: String, keeping keep: Int? = nil, cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) throws(EvstoreError) -> BackupReport {
        try Backup.run(site("back up into \(directory)", cancellation, progress: progress), into: directory, keep: keep)
    }

    /// Calls `sink` with a whole backup, piece by piece: for a pipe, or an object store. No transaction is open while `sink` runs.
    ///
    /// Blocks the calling thread for as long as there are events; it waits for the disk alone.
    /// - Throws: `EvstoreError`: epochChanged (run it again), interrupted; or what `sink` throws, as it is.
    public func backUp(
        cancellation: Cancellation? = nil, progress: ProgressHandler? = nil, to sink: ([UInt8]) throws -> Void
    ) throws -> BackupReport {
        let errors = CallerErrors()
        do {
            return try Backup.run(site("back up", cancellation, progress: progress)) { bytes in
                try errors.noting { try sink(bytes) }
            }
        } catch { throw errors.first ?? error }
    }

    /// Lists the runs of a directory's backups, oldest first.
    ///
    /// Blocks the calling thread while it reads the file of each run.
    /// - Throws: `EvstoreError`: usage where it holds none, backupDamaged, locked.
    public static func backups(in directory: String) throws(EvstoreError) -> [BackupRun] { try Backup.list(directory) }

    /// The newest backups of a directory as whoever looks sees them: see `Backup.newest`.
    package static func newestBackups(in directory: String, limit: Int = 1) -> [BackupRun] { Backup.newest(directory, limit: limit) }

    /// `backUp(into:)` on the store's own threads, which is awaited; stops where the task is cancelled.
    package func backUpAwaiting(into directory: String, keeping keep: Int?) async throws(EvstoreError) {
        try await working { (cancellation) async throws(EvstoreError) in
            _ = try backUp(into: directory, keeping: keep, cancellation: cancellation)
        }
    }

    /// Checks every file of a directory's backups, by the hash that links each frame to the one before it; a run without damage can be
    /// restored. Needs no store, no keys and no room for a copy.
    ///
    /// Blocks the calling thread while it reads every file.
    /// - Throws: `EvstoreError`: usage where it holds none, backupDamaged, locked, interrupted.
    public static func verifyBackups(
        in directory: String, cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) throws(EvstoreError) -> [BackupVerdict] {
        try Backup.verify(directory, RunControl(cancellation, progress))
    }

    /// Makes a store at the path `store` from a backup's directory or file: whole, or not at all. Its read models are built when a query
    /// needs them. Awaits the reading of the whole backup on the store's own threads.
    ///
    /// - Parameters:
    ///   - backup: the path of the directory or the file.
    ///   - number: the number of one of the directory's runs (`backups(in:)`); the newest run where nil.
    ///   - target: nil restores all; a position within an append is rounded down to the end of the append before, and
    ///     `RestoreReport.leftOut` has the rest of that append. A position within the first append is an error.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    public static func restore(
        from backup: String, run number: UInt64? = nil, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        cancellation: Cancellation? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RestoreReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try Restore.run(
                from: backup, run: number, into: RestoredStore(at: store, to: target, options: options),
                RunControl(cancellation, progress))
        }
    }

    /// Makes a store at the path `store` from the bytes of a backup: whole, or not at all. Awaits as the other `restore` does.
    /// - Parameters:
    ///   - name: what an error calls the backup.
    ///   - source: returns as many bytes as it is asked for, fewer only at the backup's end; called on a thread of the store's own.
    /// - Throws: `EvstoreError`, as the other `restore` does, or what `source` throws, as it is.
    public static func restore(
        named name: String, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        cancellation: Cancellation? = nil, progress: ProgressHandler? = nil, from source: @escaping (Int) throws -> [UInt8]
    ) async throws -> RestoreReport {
        let errors = CallerErrors()
        do {
            return try await working(cancellation) { (cancellation) async throws(EvstoreError) in
                try Restore.run(
                    from: { count in try errors.noting { try source(count) } }, named: name,
                    into: RestoredStore(at: store, to: target, options: options), RunControl(cancellation, progress))
            }
        } catch { throw errors.first ?? error }
    }
}
