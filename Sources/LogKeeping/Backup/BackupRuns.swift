internal import Bytes
internal import EventLog
public import EventModel
internal import LMDB
internal import Platform
internal import Projections

extension Backup {
    /// The runs of a directory, oldest first, also those whose files can't be read.
    /// - Throws: `EvstoreError`: usage where it holds no backups, locked.
    package static func list(_ path: String) throws(EvstoreError) -> [BackupRun] {
        try reading(path) { directory in try directory.numbers().map { try BackupRun($0, directory.read($0), in: directory) } }
    }

    /// The newest runs of a directory, newest first, at most `limit`. It takes no lock, and so works while a backup is made. Runs that are
    /// removed meanwhile are left out; empty where there is no directory of backups.
    /// - Parameters:
    ///   - readable: whether runs whose files can't be read are left out.
    ///   - answered: called after each run at which it has looked.
    package static func newest(_ path: String, limit: Int, readable: Bool, answered: () -> Void = {}) -> [BackupRun] {
        let directory = BackupDirectory(path)
        let numbers: [UInt64]
        do { numbers = try directory.numbers() } catch { return [] }
        var runs: [BackupRun] = []
        for number in numbers.reversed() where runs.count < limit {
            do {
                let run = try BackupRun(number, directory.read(number), in: directory)
                if !readable || run.damage == nil { runs.append(run) }
            } catch {}
            answered()
        }
        return runs
    }

    /// Reads every file of the runs once, checks it as a restore would, and returns the damage of each run.
    /// - Throws: `EvstoreError`: as for `list`, and interrupted.
    package static func verify(
        _ path: String, _ job: Job
    ) throws(EvstoreError) -> [BackupVerdict] {
        try reading(path) { directory in
            var known: [BackupDirectory.Run.Blocks: String?] = [:]
            let numbers = try directory.numbers()
            if numbers.isEmpty, try directory.hasFilesOfRuns {
                throw directory.damaged("it has files of runs, and no run is listed in runs/")
            }
            let ledgerDamage = try directory.damage { try directory.checkLedger(directory.newestReadable()) }
            return try numbers.enumerated().map { index, number in
                try job.advance("verify", done: UInt64(index), total: UInt64(numbers.count))
                let read = directory.read(number)
                let run = try BackupRun(number, read, in: directory)
                guard case .success(let files) = read else { return BackupVerdict(run: run, damage: run.damage) }
                return BackupVerdict(run: run, damage: try directory.damage(of: files, &known, job) ?? ledgerDamage)
            }
        }
    }

    private static func reading<R>(_ path: String, _ body: (BackupDirectory) throws -> R) throws(EvstoreError) -> R {
        do {
            guard try Directory.status(path + "/runs") != nil else {
                throw EvstoreError.usage("\(path.shellWord) is no directory of backups")
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
    fileprivate func damage(of run: Run, _ known: inout [Run.Blocks: String?], _ job: Job) throws -> String? {
        var base: BackupBase?
        for part in run.blocks {
            // The key is the file with its end, which belongs to no other file: names are never used twice.
            let damage = try known[part] ?? damage(of: part, in: part.file, after: base, job)
            known[part] = .some(damage)
            if let damage { return damage }
            base = part.base
        }
        return try damage(of: run.rows, job) {
            try EventLog.checkEnd(from: $0, after: base, position: Position(run.position), content: run.content)
        }
    }

    /// Returns the damage of a file with the frames of a block file, nil where there is none.
    /// - Parameter base: where the file before it ends.
    func damage(of blocks: Run.Blocks, in file: String, after base: BackupBase?, _ job: Job) throws -> String? {
        guard let end = blocks.base else { return "\(file): its end is not written down" }
        return try damage(of: file, job) { try EventLog.checkFrames(from: $0, after: base, through: end) }
    }

    private func damage(of file: String, _ job: Job, _ check: (@escaping (Int) throws -> [UInt8]) throws -> Void) throws -> String? {
        guard try Directory.status(path + "/" + file) != nil else { return "\(file) is missing" }
        return try damage { try check(FileSequence([path + "/" + file]).reading(job)) }.map { "\(file): \($0)" }
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

/// The result of one call of `backUp`.
public struct BackupReport: Hashable, Sendable {
    /// The position of the last event in it.
    public var position: Position
    public var epoch: Epoch
    /// SHA-256 over the events, in hexadecimal: equal for equal content in any store.
    public var content: String
    /// The bytes that this run has written.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
    /// How many older runs were removed.
    public var pruned: Int
}

/// One run of a directory's backups: the store as it was at one time.
public struct BackupRun: Hashable, Sendable {
    /// The run's number in its directory.
    public var number: UInt64
    public var time: Timestamp
    /// The position of the last event in it.
    public var position: Position
    public var epoch: Epoch
    /// See `BackupReport.content`.
    public var content: String
    /// The size of all files of the run, including those that it shares with other runs.
    public var bytes: UInt64
    /// Why the file that describes the run can't be read: then only the number is known, and all else is zero or empty. Nil where it can.
    public var damage: String?
}

/// The result of verifying one run of a directory's backups.
public struct BackupVerdict: Hashable, Sendable {
    public var run: BackupRun
    /// What is wrong with the run's files; nil where every byte is unchanged.
    public var damage: String?
}

/// The result of a restore.
public struct RestoreReport: Hashable, Sendable {
    /// The last position of the restored store, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// The last position of the backup.
    public var backupPosition: Position
    /// The positions of an append that contains the requested position and ends after it. The append was left out, since an append is
    /// restored completely or not at all. Nil where the requested position ends an append.
    public var leftOut: ClosedRange<UInt64>?
    /// Like `BackupReport.content`, of the restored events.
    public var content: String
    /// The bytes that were read from the backup.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}

/// How far a backup is restored: up to a position, or up to the last commit at or before a time.
public enum RestoreTarget: Hashable, Sendable {
    case position(Position)
    case time(Timestamp)

    /// Digits are a position, other text is an RFC 3339 date-time; nil where the text is neither.
    public init?(_ text: String) {
        if let number = UInt64(text) {
            self = .position(Position(number))
        } else if let time = Timestamp(text) {
            self = .time(time)
        } else {
            return nil
        }
    }
}
