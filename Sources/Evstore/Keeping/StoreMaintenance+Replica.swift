internal import EventModel
public import LogKeeping
internal import Migration

extension StoreMaintenance {
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
