internal import EventModel
public import LogKeeping
internal import Projections

extension StoreMaintenance {
    /// Adds a run to a directory of this store's backups: writes what was appended since the newest run, shares the rest with it, and reads
    /// back what it has written. Other processes can read and append meanwhile.
    ///
    /// Waits while the events since the newest run are read (the first time the whole log), on the store's own threads.
    /// - Parameters:
    ///   - directory: the path of the directory, which holds backups of this store and nothing else; it is created where only its parent
    ///     exists.
    ///   - keep: afterwards removes all but the newest `keep` runs, at least 1; nil keeps all. Runs with events that the log has lost stay,
    ///     too.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: usage where the directory lies in that of the store, holds other things than backups, or its parent does
    ///   not exist; misuse where `keep` is below 1; otherBackup, backupDamaged, also where what was written is read back as something else;
    ///   storeNewer where a newer program made the newest run; locked, epochChanged (run it again), diskFull, interrupted.
    public func backUp(
        into directory: String, keeping keep: Int? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> BackupReport {
        try TargetPath.require(directory, outside: store.path)
        return try await copy(into: directory, keeping: keep, progress: progress)
    }

    /// Backs up to any directory, also one in that of the store.
    func copy(
        into directory: String, keeping keep: Int? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> BackupReport {
        try await store.working("back up into \(directory)", progress) { (context) async throws(EvstoreError) in
            try Backup.run(context, into: directory, keep: keep)
        }
    }

    /// Calls `sink` with a whole backup, piece by piece: for a pipe or an object store. No transaction is open while `sink` runs.
    ///
    /// Waits while the whole log is read; `sink` is called on one of the store's threads.
    /// - Throws: `EvstoreError`: epochChanged (run it again), interrupted; or what `sink` throws, unconverted.
    public func backUp(progress: ProgressHandler? = nil, to sink: ([UInt8]) throws -> Void) async throws -> BackupReport {
        let errors = CallerErrors()
        do {
            return try await store.working("back up", progress) { (context) async throws(EvstoreError) in
                try Backup.run(context) { bytes in try errors.noting { try sink(bytes) } }
            }
        } catch { throw errors.first ?? error }
    }

    /// Lists the runs of a directory's backups, oldest first. A run whose own file can't be read is among them (`BackupRun.damage`).
    ///
    /// Blocks the calling thread while it reads the file of each run.
    /// - Throws: `EvstoreError`: usage where it is no directory of backups; locked.
    public static func backups(in directory: String) throws(EvstoreError) -> [BackupRun] { try Backup.list(directory) }

    /// The newest runs of a directory for display, also those whose own file can't be read: see `Backup.newest`.
    package static func newestBackups(in directory: String, limit: Int) -> [BackupRun] {
        Backup.newest(directory, limit: limit, readable: false)
    }

    /// The newest run of a directory whose own file can be read; nil where there is none.
    package static func newestBackup(in directory: String) -> BackupRun? {
        Backup.newest(directory, limit: 1, readable: true).first
    }

    /// Checks every file of a directory's backups by the hash that links each frame to the one before it; a run without damage can be
    /// restored. Needs no store, no keys and no disk space for a copy.
    ///
    /// Waits while every file is read.
    /// - Throws: `EvstoreError`: usage where it is no directory of backups; locked, interrupted.
    public static func verifyBackups(
        in directory: String, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> [BackupVerdict] {
        try await working("verify the backups in \(directory)", progress) { (job) async throws(EvstoreError) in
            try Backup.verify(directory, job)
        }
    }

    /// Creates a store at the path `store` from a backup's directory or file, completely or not at all. Its read models are built when a
    /// query needs them. Waits while the whole backup is read on the store's own threads.
    ///
    /// - Parameters:
    ///   - backup: the path of the directory or the file.
    ///   - number: the number of one of the directory's runs (`backups(in:)`); the newest run where nil.
    ///   - store: the path of the new store; `storeExists` is thrown unless nothing is there, or an empty directory.
    ///   - target: nil restores everything. A position within an append is rounded down to the end of the append before, and
    ///     `RestoreReport.leftOut` has the rest of that append. A position within the first append is an error.
    ///   - options: the limits that hold meanwhile. Where the backup is sealed, `secret` has to open its keys; otherwise it has to be nil
    ///     (`keysRefused`).
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing. `done` counts bytes of the
    ///     backup, and `total` is 0, since their number is not known before.
    /// - Throws: `EvstoreError`: usage where there is no backup, the directory has no run `number`, or the backup is one file and has no
    ///   runs; storeExists, backupDamaged, storeNewer, notInBackup, keysRefused, locked where a backup is being made, diskFull,
    ///   interrupted.
    public static func restore(
        from backup: String, run number: UInt64? = nil, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RestoreReport {
        try await working("restore \(backup)", progress) { (job) async throws(EvstoreError) in
            try Restore.run(from: backup, run: number, into: RestoredStore(at: store, to: target, options: options), job)
        }
    }

    /// Creates a store at the path `store` from the bytes of a backup, completely or not at all. Waits as the other `restore` does.
    /// - Parameters:
    ///   - name: the name that an error gives the backup.
    ///   - store: as for the other `restore`.
    ///   - target: as for the other `restore`.
    ///   - options: as for the other `restore`.
    ///   - progress: as for the other `restore`.
    ///   - source: returns as many bytes as it is asked for, fewer only at the backup's end; called on one of the store's threads.
    /// - Throws: `EvstoreError`, as the other `restore` does, or what `source` throws, unconverted.
    public static func restore(
        named name: String, into store: String, to target: RestoreTarget? = nil, options: Options = Options(),
        progress: ProgressHandler? = nil, from source: @escaping (Int) throws -> [UInt8]
    ) async throws -> RestoreReport {
        let errors = CallerErrors()
        do {
            return try await working("restore \(name)", progress) { (job) async throws(EvstoreError) in
                try Restore.run(
                    from: { count in try errors.noting { try source(count) } }, named: name,
                    into: RestoredStore(at: store, to: target, options: options), job)
            }
        } catch { throw errors.first ?? error }
    }
}
