package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Platform
internal import Projections

/// The store that a restore makes, and how.
package struct RestoredStore {
    let path: String
    /// How far its log goes; nil for the backup's end.
    let target: RestoreTarget?
    let options: Options
    /// The backup that a replica is made from; nil for a store of its own.
    let origin: ReplicaOrigin?

    package init(at path: String, to target: RestoreTarget?, options: Options, as origin: ReplicaOrigin? = nil) {
        (self.path, self.target, self.options, self.origin) = (path, target, options, origin)
    }
}

/// Makes a store from a backup.
package enum Restore {
    /// - Parameters:
    ///   - path: a backup's directory, or a file of frames.
    ///   - number: the number of one of the directory's runs; the newest run where nil.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from path: String, run number: UInt64? = nil, into store: RestoredStore, _ job: Job
    ) throws(EvstoreError) -> RestoreReport {
        let (files, ledger) = try files(of: path, run: number)
        return try run(from: files.read, named: path, forgetting: ledger, into: store, job)
    }

    /// - Parameters:
    ///   - source: returns the next bytes of a backup, fewer than asked for only at its end.
    ///   - name: what an error calls the backup.
    ///   - ledger: what was forgotten since the backup was made.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from source: @escaping (Int) throws -> [UInt8], named name: String, forgetting ledger: [ForgottenLedger.Entry] = [],
        into store: RestoredStore, _ job: Job
    ) throws(EvstoreError) -> RestoreReport {
        let began = ContinuousClock.now
        do {
            let summary = try EventLog.restore(
                from: source, named: name, into: store.path, to: store.target, options: store.options, forgetting: ledger
            ) { bytes in
                try job.advance("restore", done: bytes, total: 0)
            } finish: { update in
                // The new store builds its read models from the log.
                update.state.generations = [:]
                // Rows that only a newer program can read are restored for it.
                do { _ = try RegisteredRows.registered(update, in: name) } catch EvstoreError.schemaNewer {
                } catch EvstoreError.storeDamaged(_, let reason) { throw BackupDamage(reason) }
                guard try update.state.numbers.fit(update.rows(.schemas).count) else {
                    throw BackupDamage("its numbers are \(update.state.numbers), and it has no such versions")
                }
                let live = update.state.live
                try Journal.append(
                    .init(.restore, to: live, position: update.last.position, duration: began.duration(to: .now)), to: &update)
            }
            return RestoreReport(
                position: summary.last.position, epoch: summary.last.epoch, backupPosition: summary.backup.position,
                leftOut: summary.leftOut,
                content: summary.content.hex, bytes: summary.bytes, duration: began.duration(to: .now))
        } catch { throw EvstoreError(converting: error, at: store.path, doing: "restoring \(name)") }
    }

    /// Locks a directory against backups, which remove files; nil where it has no lock file.
    static func lock(_ path: String) throws -> File? {
        guard try Directory.status(path + "/lock") != nil else { return nil }
        let lock = try File(path + "/lock", .read)
        guard try lock.lock(byte: 0, shared: true) else { throw EvstoreError.locked(path: path, holder: "a backup") }
        return lock
    }

    private static func files(of path: String, run number: UInt64?) throws(EvstoreError) -> (FileSequence, [ForgottenLedger.Entry]) {
        do {
            guard let status = try Directory.status(path) else { throw EvstoreError.usage("there is no backup at \(path)") }
            if !status.isDirectory {
                if number != nil { throw EvstoreError.usage("\(path) is one backup and has no runs") }
                return (FileSequence([path]), [])
            }
            let lock = try lock(path)
            let directory = BackupDirectory(path)
            let run = try directory.chosen(number)
            // What was forgotten must not come back.
            try directory.checkLedger(directory.newestReadable())
            return (FileSequence(run.files(in: path), holding: lock), try directory.ledger())
        } catch { throw EvstoreError(converting: error, at: path, doing: "reading the backup \(path)") }
    }
}
