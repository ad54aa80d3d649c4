internal import Bytes
internal import EventLog
public import EventModel
internal import Hashing
internal import LMDB
package import Migration
internal import Platform
internal import Projections

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
        guard try Directory.status(path + "/runs") != nil else { throw EvstoreError.usage("\(path.shellWord) is no directory of backups") }
        let directory = BackupDirectory(path)
        guard let number = try directory.numbers().last else { throw directory.damaged(EvstoreError.noRunFinished) }
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
        let began = Instant.now
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

extension Follow {
    /// Takes the part of a backup after a replica's end into its log: checks all of it first, then writes in transactions of bounded size.
    /// After each of them the log is equal to the original's at some time; the last one writes the mark.
    /// - Parameter bytesWanted: how many bytes of blocks a transaction must have before it may end.
    static func takeIn(
        _ source: BackupSource, _ origin: ReplicaOrigin, to log: EventLog, _ job: Job,
        atOnce bytesWanted: Int = BlockPieces.bytesWanted
    ) async throws -> FollowReport {
        guard let old = try log.replica() else { throw promoted(log.path) }
        let before = try log.read { $0.last }
        func report(_ done: UInt64, _ total: UInt64) throws {
            try job.advance("follow", done: done, total: total)
        }
        let (newer, bytes) = try examine(source, origin, behind: old, log) { try report($0, 0) }
        let end = newer.end.last
        var pieces = BlockPieces(newer, behind: before.position, of: log.storeID, atOnce: bytesWanted)
        var next = try pieces.next()
        var known: Epoch?
        repeat {
            let piece = next
            next = piece == nil ? nil : try pieces.next()
            let isLast = next == nil
            let epoch = isLast ? end.epoch : max(piece?.epoch ?? .first, before.epoch)
            let change = Change(
                rows: epoch == known ? nil : newer.rows(through: epoch), piece: piece, end: isLast ? newer.end : nil, from: old,
                to: newer.mark)
            known = epoch
            try await log.update { [path = log.path, name = source.name, tables = log.access.tables] update in
                do { try change.write(&update, path, tables) } catch let damage as BackupDamage {
                    throw EvstoreError.backupDamaged(path: name, reason: damage.reason)
                }
            }
            try report((piece?.last ?? end.position).rawValue, end.position.rawValue)
        } while next != nil
        return FollowReport(
            isMade: false, isNew: true, position: end.position, epoch: end.epoch,
            events: end.position.events(after: before.position), backupTime: newer.mark.time, bytes: bytes,
            duration: .zero)
    }

    /// Reads and checks the part of a backup that may be new.
    private static func examine(
        _ source: BackupSource, _ origin: ReplicaOrigin, behind old: ReplicaMark, _ log: EventLog, _ progress: (UInt64) throws -> Void
    ) throws -> (NewerBackup, bytes: UInt64) {
        switch (source, origin.run) {
        case (.directory(let path), .some(let run)):
            if run.store != log.storeID.description { throw EvstoreError.otherBackup(path: path) }
            // The file with the frame after the replica's end may begin with frames that the replica has: files are joined.
            let shared = try run.blocks.lastIndex { part in
                guard let end = part.base, end.last.position <= old.base.last.position else { return false }
                return try log.holds(end)
            }
            let base = shared.flatMap { run.blocks[$0].base }
            let after = base.map { (number: $0.frame, link: $0.frameLink) }
            let start = base?.last.position ?? .start
            let files = run.files(in: path).dropFirst(shared.map { $0 + 1 } ?? 0)
            var examination = try BackupExamination(
                FrameReader(FileSequence(Array(files)).read, after: after), named: path, after: start, log)
            let end = try examination.run(progress)
            let blocks = NewerBackup.Blocks(files: Array(files), after: after, start: start)
            return (examination.newer(blocks, end, try origin.mark(end, madeAt: nil)), examination.bytes)
        case (.directory(let path), nil): throw EvstoreError.usage("\(path.shellWord) is no directory of backups")
        case (.bytes(let name, let read), _):
            let spool = try FrameSpool(at: log.path, behind: log.read { $0.last.position })
            var examination = try BackupExamination(FrameReader(read), named: name, after: .start, log, spool: spool)
            let end = try examination.run(progress)
            let blocks = examination.spool?.blocks ?? spool.blocks
            return (examination.newer(blocks, end, try origin.mark(end, madeAt: examination.madeAt)), examination.bytes)
        }
    }

    static func promoted(_ path: String) -> EvstoreError { .usage("\(path) is a store of its own: it was promoted") }

    private struct Change: Sendable {
        /// All rows of the log; nil where it has them already.
        let rows: [String: [[UInt8]: [UInt8]]]?
        let piece: BlockPieces.Piece?
        /// The end of the log after the last transaction; nil for others.
        let end: LogEnd?
        let from: ReplicaMark
        let to: ReplicaMark

        func write(_ update: inout LogUpdate, _ path: String, _ tables: Tables) throws {
            guard let mark = update.replica else { throw Follow.promoted(path) }
            guard mark == from else { throw EvstoreError.locked(path: path, holder: "another process that follows") }
            // Order: the rows are written first, since they hold the epochs of blocks, and events are read with them.
            if let rows { try BackupRows.replace(with: rows, &update.transaction, tables) }
            if let piece { try update.takeIn(piece.bytes.lent) }
            guard let end else { return try update.readEnd() }
            try update.put(to)
            guard update.last == end.last, try update.endLink() == end.link else {
                throw BackupDamage("with it the replica ends at \(update.last.position), which does not match its end")
            }
        }
    }
}

/// The result of one call of `follow`.
public struct FollowReport: Hashable, Sendable {
    /// Whether this call made the replica; otherwise it existed already.
    public var isMade: Bool
    /// Whether there was a backup that the replica did not have yet.
    public var isNew: Bool
    /// The replica's last position, in its original's epoch.
    public var position: Position
    public var epoch: Epoch
    /// How many events are new in the replica.
    public var events: UInt64
    /// When the backup was made that the replica now holds.
    public var backupTime: Timestamp
    /// The bytes that were read from backups.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}

/// The state of a replica when it became a store of its own.
public struct PromoteReport: Hashable, Sendable {
    /// The last position, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// When its last backup was made: the replica lacks what its original has appended since.
    public var backupTime: Timestamp
}

package enum Promote {
    /// - Throws: `EvstoreError`: usage where the store is no replica, readOnly.
    package static func run(_ context: MigrationContext) async throws(EvstoreError) -> PromoteReport {
        let path = context.store
        return try await awaiting {
            let report = try await context.log.update { update in
                guard let mark = update.replica else {
                    throw EvstoreError.usage("\(path) is a store of its own already: there is nothing to promote")
                }
                // The original may go on with other events: the replica needs an epoch that no other store has.
                try update.promote(later: .fromClock)
                let live = update.state.live
                try Journal.append(
                    .init(.promote, to: live, position: update.last.position, outcome: "as of \(mark.time)"), to: &update)
                return PromoteReport(position: update.last.position, epoch: update.last.epoch, backupTime: mark.time)
            }
            try context.log.settleLayout()
            return report
        }
    }
}
