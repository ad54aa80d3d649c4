internal import EventModel
public import LogKeeping
internal import Migration

extension StoreMaintenance {
    /// Keeps a replica, a warm standby: makes it where nothing is at the path `replica`, whole or not at all, and else takes in what the
    /// newest run of a directory of backups has behind its end.
    ///
    /// A replica is the same store in the same epoch. It can be opened meanwhile: it is read and queried as every store, its read models are
    /// built on this machine and follow, and `append` and all that changes versions throw `EvstoreError.replica`, until `promote`. Each step
    /// leaves it as its original was at some time. Backups go on meanwhile.
    ///
    /// Awaits the reading of what is new, on the store's own threads, the first time of the whole backup; a look where nothing is new takes
    /// some milliseconds.
    ///
    /// - Parameter backups: the path of the directory.
    /// - Throws: `EvstoreError`: usage where another store is at the path, or no backups in the directory; otherBackup; epochChanged where the
    ///   original has cut its log below the replica's end, which has to be made anew then, in another place; backupDamaged where none was
    ///   finished yet, too; keysRefused where events are sealed; locked where another process does the same; diskFull, interrupted.
    public static func follow(
        from backups: String, into replica: String, options: Options = Options(),
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> FollowReport {
        try await working("follow \(backups)", progress) { (job) async throws(EvstoreError) in
            try await Follow.run(from: .directory(backups), into: replica, options, job)
        }
    }

    /// Does the same with the bytes of one whole backup, which are all read, also where the replica has most of them. What it lacks waits in
    /// a file in its directory until everything is checked. Awaits as the other `follow` does.
    /// - Parameters:
    ///   - name: what an error calls the backup.
    ///   - source: returns as many bytes as it is asked for, fewer only at the backup's end; called on a thread of the store's own.
    /// - Throws: `EvstoreError`, as the other `follow` does, or what `source` throws, as it is.
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

    /// Makes a replica a store of its own, which is written from then on, also through handles and by processes that have it open: in a new
    /// epoch, since its original may go on with other events. What the original has appended since the last backup that was taken in is not
    /// there. `follow` refuses it afterwards.
    ///
    /// Awaits one durable transaction.
    /// - Throws: `EvstoreError`: usage where the store is no replica, readOnly, deadlinePassed, diskFull.
    public func promote() async throws(EvstoreError) -> PromoteReport {
        try await store.working("promote") { (site) async throws(EvstoreError) in try await Promote.run(site) }
    }
}
