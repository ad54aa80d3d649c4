internal import EventModel
public import LogKeeping

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
    package static func newestBackups(in directory: String, limit: Int, answered: () -> Void = {}) -> [BackupRun] {
        Backup.newest(directory, limit: limit, readable: false, answered: answered)
    }

    /// The newest run of a directory whose own file can be read; nil where there is none.
    package static func newestBackup(in directory: String, answered: () -> Void = {}) -> BackupRun? {
        Backup.newest(directory, limit: 1, readable: true, answered: answered).first
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

    /// Keeps a replica, a warm standby. Where the path `replica` is free, creates it, completely or not at all; otherwise takes in what the
    /// newest run of a directory of backups has beyond the replica's end.
    ///
    /// A replica is the same store in the same epoch. It can be open meanwhile: it is read and queried like every store, its read models
    /// are built on this machine and follow, but `append` and everything that changes versions throw `EvstoreError.replica`, until
    /// `promote`. Each step leaves it in a state that its original once had. Backups may go on meanwhile.
    ///
    /// Waits while the new events are read on the store's own threads, the first time the whole backup; where nothing is new, the check
    /// takes some milliseconds.
    ///
    /// - Parameters:
    ///   - backups: the path of the directory.
    ///   - replica: the path of the replica; it is created where nothing is, or an empty directory.
    ///   - options: the limits that hold meanwhile; `secret` has to be nil, since no replica is sealed (`keysRefused`).
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing. `done` counts bytes of the backup
    ///     while they are read (`total` is 0), and then positions of the replica.
    /// - Throws: `EvstoreError`: usage where another store is at the path, or the directory holds no backups; otherBackup; epochChanged
    ///   where the original has cut its log below the replica's end: then the replica must be created anew, in another place;
    ///   backupDamaged, also where no backup was finished yet; keysRefused where events are sealed; locked where another process does the
    ///   same; diskFull, interrupted.
    public static func follow(
        from backups: String, into replica: String, options: Options = Options(),
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> FollowReport {
        try await working("follow \(backups)", progress) { (job) async throws(EvstoreError) in
            try await Follow.run(from: .directory(backups), into: replica, options, job)
        }
    }

    /// Keeps a replica by the bytes of one whole backup. All of them are read, even if the replica has most of the events. What it lacks
    /// waits in a file in its directory until everything is checked. Waits as the other `follow` does.
    /// - Parameters:
    ///   - name: the name that an error gives the backup.
    ///   - replica: as for the other `follow`.
    ///   - options: as for the other `follow`.
    ///   - progress: as for the other `follow`.
    ///   - source: returns as many bytes as it is asked for, fewer only at the backup's end; called on one of the store's threads.
    /// - Throws: `EvstoreError`, as the other `follow` does, or what `source` throws, unconverted.
    public static func follow(
        named name: String, into replica: String, options: Options = Options(),
        progress: ProgressHandler? = nil,
        from source: @escaping (Int) throws -> [UInt8]
    ) async throws -> FollowReport {
        let errors = CallerErrors()
        do {
            return try await working("follow \(name)", progress) { (job) async throws(EvstoreError) in
                try await Follow.run(
                    from: .bytes(named: name, { count in try errors.noting { try source(count) } }), into: replica, options, job)
            }
        } catch { throw errors.first ?? error }
    }

    /// Makes a replica an independent store, which can be written from then on, also through handles and by processes that already have it
    /// open. It begins a new epoch, since its original may continue with other events. It lacks what the original has appended since the
    /// last backup that was taken in. `follow` refuses it afterwards.
    ///
    /// Waits for one durable transaction.
    /// - Throws: `EvstoreError`: usage where the store is no replica, readOnly, deadlinePassed, diskFull.
    public func promote() async throws(EvstoreError) -> PromoteReport {
        try await store.working("promote") { (context) async throws(EvstoreError) in try await Promote.run(context) }
    }
}
