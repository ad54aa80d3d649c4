internal import Bytes
internal import EventLog
package import EventModel
internal import LMDB
internal import Platform
internal import Projections

extension Backup {
    /// The runs of a directory, oldest first.
    /// - Throws: `EvstoreError`: usage where it holds no backups, backupDamaged, locked.
    package static func list(_ path: String) throws(EvstoreError) -> [BackupRun] {
        try reading(path) { directory in try directory.numbers().map { try BackupRun(directory.run($0), in: directory) } }
    }

    /// The newest runs of a directory, newest first, at most `limit`. It takes no lock, and so works while a backup is made. Runs that
    /// can't be read, or are removed meanwhile, are left out; empty where there is no directory of backups.
    package static func newest(_ path: String, limit: Int) -> [BackupRun] {
        let directory = BackupDirectory(path)
        let numbers: [UInt64]
        do { numbers = try directory.numbers() } catch { return [] }
        return numbers.suffix(limit).reversed().compactMap { number in
            do { return try BackupRun(directory.run(number), in: directory) } catch { return nil }
        }
    }

    /// Reads every file of the runs once, checks it as a restore would, and returns the damage of each run.
    /// - Throws: `EvstoreError`: as for `list`, and interrupted.
    package static func verify(
        _ path: String, _ job: Job
    ) throws(EvstoreError) -> [BackupVerdict] {
        try reading(path) { directory in
            var known: [BackupDirectory.Run.Blocks: String?] = [:]
            let numbers = try directory.numbers()
            let ledgerDamage = try directory.damage { try directory.checkLedger(numbers.last.map { try directory.run($0) }) }
            return try numbers.enumerated().map { index, number in
                try job.advance("verify", done: UInt64(index), total: UInt64(numbers.count))
                let run = try directory.run(number)
                let damage = try directory.damage(of: run, &known) ?? ledgerDamage
                return BackupVerdict(run: try BackupRun(run, in: directory), damage: damage)
            }
        }
    }

    private static func reading<R>(_ path: String, _ body: (BackupDirectory) throws -> R) throws(EvstoreError) -> R {
        do {
            guard try Directory.status(path + "/runs") != nil else {
                throw EvstoreError.usage("\(path) is no directory of backups")
            }
            let lock = try Restore.lock(path)
            defer { withExtendedLifetime(lock) {} }
            return try body(BackupDirectory(path))
        } catch { throw EvstoreError(converting: error, at: path, doing: "reading the backups in \(path)") }
    }
}

extension BackupDirectory {
    /// Returns the damage of a run's files, nil where there is none.
    /// - Parameter known: the results for files of other runs, which this one may share.
    fileprivate func damage(of run: Run, _ known: inout [Run.Blocks: String?]) throws -> String? {
        var base: BackupBase?
        for part in run.blocks {
            // The key is the file with its end, which belongs to no other file: names are never used twice.
            let damage = try known[part] ?? damage(of: part, in: part.file, after: base)
            known[part] = .some(damage)
            if let damage { return damage }
            base = part.base
        }
        return try damage(of: run.rows) {
            try EventLog.checkEnd(from: $0, after: base, position: Position(run.position), content: run.content)
        }
    }

    /// Returns the damage of a file with the frames of a block file, nil where there is none.
    /// - Parameter base: where the file before it ends.
    func damage(of blocks: Run.Blocks, in file: String, after base: BackupBase?) throws -> String? {
        guard let end = blocks.base else { return "\(file): its end is not written down" }
        return try damage(of: file) { try EventLog.checkFrames(from: $0, after: base, through: end) }
    }

    private func damage(of file: String, _ check: (@escaping (Int) throws -> [UInt8]) throws -> Void) throws -> String? {
        guard try Directory.status(path + "/" + file) != nil else { return "\(file) is missing" }
        return try damage { try check(FileSequence([path + "/" + file]).read) }.map { "\(file): \($0)" }
    }

    /// Returns why a check finds damage, nil where it finds none.
    fileprivate func damage(_ check: () throws -> Void) throws -> String? {
        do { try check() } catch EvstoreError.backupDamaged(_, let reason) { return reason }
        return nil
    }
}

extension BackupRun {
    init(_ run: BackupDirectory.Run, in directory: BackupDirectory) throws {
        guard let time = Timestamp(run.time) else { throw directory.damaged("run \(run.number) has an invalid time") }
        let rows = try Directory.status(directory.path + "/" + run.rows)?.bytes ?? 0
        self.init(
            number: run.number, time: time, position: Position(run.position), epoch: Epoch(run.epoch), content: run.content,
            bytes: UInt64(clamping: rows.plus(run.blocks.sum(\.bytes))))
    }
}
