internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

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
        case (.directory(let path), nil): throw EvstoreError.usage("\(path) is no directory of backups")
        case (.bytes(let name, let read), _):
            let spool = try FrameSpool(at: log.path, behind: log.read { $0.last.position })
            var examination = try BackupExamination(FrameReader(read), named: name, after: .start, log, spool: spool)
            let end = try examination.run(progress)
            let blocks = examination.spool?.written ?? spool.written
            return (examination.newer(blocks, end, try origin.mark(end, madeAt: examination.madeAt)), examination.bytes)
        }
    }

    static func promoted(_ path: String) -> EvstoreError { .usage("\(path) is a store of its own: it was promoted") }

    /// The changes of one transaction to a replica.
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
