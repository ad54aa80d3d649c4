internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Platform
internal import Projections

/// Where a replica gets backups from.
package enum BackupSource {
    /// A directory, of which the newest run is used.
    case directory(String)
    /// A complete backup: returns the next bytes, fewer than asked for only at its end.
    case bytes(named: String, (Int) throws -> [UInt8])

    var name: String {
        switch self {
        case .directory(let path), .bytes(let path, _): path
        }
    }
}

/// Keeps a replica of a store up to date with its backups.
package enum Follow {
    /// Makes the replica if nothing is at its path, completely or not at all; else takes in the part of the newest backup after the
    /// replica's end.
    ///
    /// A directory is read without its lock, so that backups into it go on: files never change, and if they are removed, the next run is
    /// read.
    /// - Throws: `EvstoreError`: usage where something else is at the path, otherBackup, epochChanged, backupDamaged, keysRefused, locked,
    ///   diskFull, interrupted.
    package static func run(
        from source: BackupSource, into replica: String, _ options: Options, _ job: Job
    ) async throws(EvstoreError) -> FollowReport {
        do {
            var failed: UInt64?
            while true {
                let number = try newest(source)
                do { return try await run(from: source, number, into: replica, options, job) } catch  where isOfRemovedFiles(error) {
                    guard number != nil, number != failed else { throw error }
                    failed = number
                }
            }
        } catch let damage as BackupDamage { throw .backupDamaged(path: source.name, reason: damage.reason) } catch {
            throw EvstoreError(converting: error, at: replica, doing: "following \(source.name)")
        }
    }

    private static func newest(_ source: BackupSource) throws -> UInt64? {
        guard case .directory(let path) = source else { return nil }
        guard try Directory.status(path + "/runs") != nil else { throw EvstoreError.usage("\(path) is no directory of backups") }
        let directory = BackupDirectory(path)
        guard let number = try directory.numbers().last else { throw directory.damaged("no backup was ever finished there") }
        return number
    }

    private static func isOfRemovedFiles(_ error: any Error) -> Bool {
        if let error = error as? StorageError { return error.isMissing }
        if case EvstoreError.backupDamaged = error { return true }
        return error is BackupDamage
    }

    private static func run(
        from source: BackupSource, _ number: UInt64?, into replica: String, _ options: Options, _ job: Job
    ) async throws -> FollowReport {
        let began = ContinuousClock.now
        let run = try number.map { try BackupDirectory(source.name).run($0) }
        let origin = ReplicaOrigin(source: run == nil ? "" : Directory.absolute(source.name), run: run)
        var report: FollowReport
        if try EventLog.isFree(replica) {
            report = try make(source, origin, at: replica, options, job)
        } else {
            guard let mark = try EventLog.replica(at: replica) else {
                throw EvstoreError.usage("\(replica) is a store of its own and no replica", fix: "name a directory where nothing is yet")
            }
            if let run, mark.includes(run) {
                return FollowReport(
                    isMade: false, isNew: false, position: mark.base.last.position, epoch: mark.base.last.epoch, events: 0,
                    backupTime: mark.time, bytes: 0, duration: began.duration(to: .now))
            }
            let following = try StoreLock.following.acquire(at: replica, what: "follows \(source.name)")
            defer { withExtendedLifetime(following) {} }
            let log = try EventLog.open(at: replica, options: options)
            do { report = try await takeIn(source, origin, to: log, job) } catch {
                try FrameSpool.remove(at: replica)
                try await log.close()
                throw error
            }
            try FrameSpool.remove(at: replica)
            try await log.close()
        }
        report.duration = began.duration(to: .now)
        return report
    }

    private static func make(
        _ source: BackupSource, _ origin: ReplicaOrigin, at replica: String, _ options: Options, _ job: Job
    ) throws -> FollowReport {
        let read =
            switch source {
            case .directory(let path): FileSequence(origin.run.map { run in run.files(in: path) } ?? []).read
            case .bytes(_, let read): read
            }
        let made = try EventLog.restore(from: read, named: source.name, into: replica, options: options, as: origin) { bytes in
            try job.advance("follow", done: bytes, total: 0)
        }
        guard let mark = try EventLog.replica(at: replica) else { throw EvstoreError.misuse("a replica was made without its mark") }
        return FollowReport(
            isMade: true, isNew: true, position: made.last.position, epoch: made.last.epoch, events: made.last.position.rawValue,
            backupTime: mark.time, bytes: made.bytes, duration: .zero)
    }
}

extension BackupDirectory.Run {
    /// The paths of the run's files, in order.
    func files(in directory: String) -> [String] { (blocks.map(\.file) + [rows]).map { directory + "/" + $0 } }
}

/// The backup that a replica is made from or updated to.
package struct ReplicaOrigin {
    /// The directory of the backups; empty where they come through a pipe.
    let source: String
    /// The run in the directory; nil for a pipe.
    let run: BackupDirectory.Run?

    /// The mark of a replica that holds all of the backup.
    /// - Parameter madeAt: when a backup in a pipe was begun.
    /// - Throws: `BackupDamage` where the run has another end.
    func mark(_ end: LogEnd, madeAt: Timestamp?) throws -> ReplicaMark {
        guard let run else {
            // A pipe brings all blocks each time: nothing continues after its frames.
            let base = BackupBase(last: end.last, link: end.link, frame: 0, frameLink: .zero)
            return ReplicaMark(source: source, run: 0, time: madeAt ?? .now, base: base)
        }
        guard let time = Timestamp(run.time), let base = run.blocks.last?.base, end.content.hex == run.content,
            (end.last.position.rawValue, end.last.epoch.rawValue) == (run.position, run.epoch)
        else { throw BackupDamage("its end is not that of the run") }
        return ReplicaMark(source: source, run: run.number, time: time, base: base)
    }
}

extension ReplicaMark {
    /// Whether a replica has all of a run: it has taken in this run, or a newer one that was removed since.
    func includes(_ run: BackupDirectory.Run) -> Bool {
        guard let made = Timestamp(run.time) else { return false }
        return (run.number, made) == (self.run, time) || run.number < self.run && made < time
    }
}
