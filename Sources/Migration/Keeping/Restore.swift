internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Projections

/// Makes a store from a backup.
package enum Restore {
    /// - Parameter path: a backup's directory, whose newest run is taken, or a file of frames.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from path: String, into store: String, to target: RestoreTarget?, options: Options, cancellation: Cancellation?,
        progress: Progress?
    ) async throws(EvstoreError) -> RestoreReport {
        let files = try files(of: path)
        return try await run(
            from: files.take, named: path, into: store, to: target, options: options, cancellation: cancellation, progress: progress)
    }

    /// - Parameter source: gives the next bytes of a backup, fewer only at its end.
    package static func run(
        from source: @escaping (Int) throws -> [UInt8], named name: String, into store: String, to target: RestoreTarget?,
        options: Options, cancellation: Cancellation?, progress: Progress?
    ) async throws(EvstoreError) -> RestoreReport {
        let began = ContinuousClock.now
        let point: RestorePoint? =
            switch target {
            case nil: nil
            case .position(let position): .position(position)
            case .time(let time): .time(time)
            }
        let again = "evstore restore \(name) --into \(store)"
        do {
            let summary = try EventLog.restore(from: source, named: name, into: store, to: point, options: options) { bytes in
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
                content: summary.content.hex, bytes: summary.bytes, seconds: began.duration(to: .now).inSeconds)
        } catch { throw storeError(error, store, doing: "restoring \(name)") }
    }

    /// Keeps backups from removing what is being read; nil where the directory can't be locked.
    private static func lock(_ path: String) throws -> File? {
        guard try Directory.status(path + "/lock") != nil else { return nil }
        let lock = try File(path + "/lock", .read)
        guard try lock.lock(byte: 0, shared: true) else { throw EvstoreError.locked(path: path, holder: "a backup") }
        return lock
    }

    private static func files(of path: String) throws(EvstoreError) -> FileSequence {
        do {
            guard let status = try Directory.status(path) else { throw EvstoreError.usage("there is no backup at \(path)") }
            if !status.isDirectory { return FileSequence([path]) }
            let lock = try lock(path)
            let run = try BackupDirectory(path).newest()
            return FileSequence((run.blocks.map(\.file) + [run.rows]).map { path + "/" + $0 }, holding: lock)
        } catch { throw storeError(error, path, doing: "reading the backup \(path)") }
    }
}
