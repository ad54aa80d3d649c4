package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Projections
internal import System

/// Makes a store from a backup.
package enum Restore {
    /// - Parameters:
    ///   - path: a backup's directory, or a file of frames.
    ///   - number: which of the directory's runs; the newest where nil.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from path: String, run number: UInt64? = nil, into store: String, to target: RestoreTarget?, options: Options,
        cancellation: Cancellation?, progress: Progress?
    ) throws(EvstoreError) -> RestoreReport {
        let (files, ledger) = try files(of: path, run: number)
        return try run(
            from: files.take, named: path, forgetting: ledger, into: store, to: target, options: options, cancellation: cancellation,
            progress: progress)
    }

    /// - Parameters:
    ///   - source: gives the next bytes of a backup, fewer only at its end.
    ///   - ledger: what was forgotten since it was made.
    package static func run(
        from source: @escaping (Int) throws -> [UInt8], named name: String, forgetting ledger: [ForgottenLedger.Entry] = [],
        into store: String, to target: RestoreTarget?,
        options: Options, cancellation: Cancellation?, progress: Progress?
    ) throws(EvstoreError) -> RestoreReport {
        let began = ContinuousClock.now
        let again = "restore \(name) again"
        do {
            let summary = try EventLog.restore(from: source, named: name, into: store, to: target, options: options, forgetting: ledger) {
                bytes in
                if cancellation?.isCancelled == true { throw EvstoreError.interrupted(again: again) }
                progress?(ProgressEvent(step: "restore", done: bytes, total: 0, quarantined: 0, note: ""))
            } finish: { update in
                // The read models are made anew from the log.
                update.state.generations = [:]
                let live = update.state.live
                try Journal.append(
                    .init("restore", to: live, position: update.last.position, seconds: began.duration(to: .now).inSeconds), to: &update)
            }
            return RestoreReport(
                position: summary.last.position, epoch: summary.last.epoch, backupPosition: summary.backup.position,
                leftOut: summary.leftOut,
                content: summary.content.hex, bytes: summary.bytes, seconds: began.duration(to: .now).inSeconds)
        } catch { throw storeError(error, store, doing: "restoring \(name)") }
    }

    /// Keeps backups from removing what is being read; nil where the directory can't be locked.
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
            let files = (run.blocks.map(\.file) + [run.rows]).map { path + "/" + $0 }
            return (FileSequence(files, holding: lock), try directory.ledger())
        } catch { throw storeError(error, path, doing: "reading the backup \(path)") }
    }
}
