internal import Bytes
internal import EventLog
package import EventModel
internal import LMDB
internal import Platform
internal import Projections

extension Backup {
    /// The runs of a directory, oldest first, also those whose files can't be read.
    /// - Throws: `EvstoreError`: usage where it holds no backups, locked.
    package static func list(_ path: String) throws(EvstoreError) -> [BackupRun] {
        try reading(path) { directory in try directory.numbers().map { try BackupRun($0, directory.read($0), in: directory) } }
    }

    /// The newest runs of a directory, newest first, at most `limit`. It takes no lock, and so works while a backup is made. Runs that
    /// can't be read, or are removed meanwhile, are left out; empty where there is no directory of backups.
    package static func newest(_ path: String, limit: Int) -> [BackupRun] {
        let directory = BackupDirectory(path)
        let numbers: [UInt64]
        do { numbers = try directory.numbers() } catch { return [] }
        return numbers.suffix(limit).reversed().compactMap { number -> BackupRun? in
            do { return try BackupRun(number, directory.read(number), in: directory) } catch { return nil }
        }.filter { $0.damage == nil }
    }

    /// Reads every file of the runs once, checks it as a restore would, and returns the damage of each run.
    /// - Throws: `EvstoreError`: as for `list`, and interrupted.
    package static func verify(
        _ path: String, _ job: Job
    ) throws(EvstoreError) -> [BackupVerdict] {
        try reading(path) { directory in
            var known: [BackupDirectory.Run.Blocks: String?] = [:]
            let numbers = try directory.numbers()
            let ledgerDamage = try directory.damage { try directory.checkLedger(directory.newestReadable()) }
            return try numbers.enumerated().map { index, number in
                try job.advance("verify", done: UInt64(index), total: UInt64(numbers.count))
                let read = directory.read(number)
                let run = try BackupRun(number, read, in: directory)
                guard case .success(let files) = read else { return BackupVerdict(run: run, damage: run.damage) }
                return BackupVerdict(run: run, damage: try directory.damage(of: files, &known) ?? ledgerDamage)
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
    /// - Parameter read: the content of the run's file.
    init(_ number: UInt64, _ read: Result<BackupDirectory.Run, EvstoreError>, in directory: BackupDirectory) throws {
        switch read {
        case .success(let run):
            let rows = try Directory.status(directory.path + "/" + run.rows)?.bytes ?? 0
            self.init(
                number: number, time: Timestamp(run.time) ?? Timestamp(microseconds: 0), position: Position(run.position),
                epoch: Epoch(run.epoch), content: run.content, bytes: UInt64(clamping: rows.plus(run.blocks.sum(\.bytes))))
        case .failure(let error):
            self.init(number: number, time: Timestamp(microseconds: 0), position: .start, epoch: .first, content: "", bytes: 0)
            if case .backupDamaged(_, let reason) = error { damage = reason } else { damage = error.message }
        }
    }
}
