internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import LMDB
package import Migration
internal import Platform
internal import Projections

/// Makes backups: copies of a log that survive damage and the loss of its disk, as snapshots don't.
package enum Backup {
    /// Adds a run to a directory: writes the blocks after those of the newest run, reads them again, and removes all runs except the newest
    /// `keep`.
    /// - Throws: `EvstoreError`: otherBackup, backupDamaged, locked, epochChanged, diskFull, interrupted.
    package static func run(_ context: MigrationContext, into path: String, keep: Int? = nil) throws(EvstoreError) -> BackupReport {
        let began = Instant.now
        if let keep, keep < 1 { throw .misuse("of a directory's backups one at least is kept") }
        do {
            let directory = try BackupDirectory(making: path)
            let lock = try File(path + "/lock", .create)
            guard try lock.lock(byte: 0, shared: false) else {
                throw EvstoreError.locked(path: path, holder: "another backup, or a restore")
            }
            defer { withExtendedLifetime(lock) {} }
            let summary = try write(context, to: directory)
            let pruned = try keep.map { count throws -> Int in
                for (number, error) in try directory.unreadable() {
                    context.warn("run \(number) of the backups in \(path) can't be read, so what it may need is kept: \(error.message)")
                }
                // A run may be the only copy of events that the log has lost, by a cut or because an older copy was restored.
                return try directory.prune(keeping: count, overwriting: context.log.keyFile != nil) { run in
                    try run.blocks.last?.base.map { try context.log.holds($0) } ?? false
                }
            }
            return BackupReport(summary, duration: began.duration(to: .now), pruned: pruned ?? 0)
        } catch { throw EvstoreError(converting: error, at: path, doing: "backing up to \(path)") }
    }

    /// Passes the frames of a complete backup to `sink`.
    /// - Throws: `EvstoreError`: epochChanged, corruptBlock, interrupted; an error of `sink` is converted to one.
    package static func run(_ context: MigrationContext, to sink: ([UInt8]) throws -> Void) throws(EvstoreError) -> BackupReport {
        let began = Instant.now
        let summary = try converting {
            try context.log.backUp {
                try context.job.advance("backup", done: $0, total: $1)
            } to: {
                try sink([UInt8](copying: $1))
            }
        }
        return BackupReport(summary, duration: began.duration(to: .now), pruned: 0)
    }

    private static func write(_ context: MigrationContext, to directory: BackupDirectory) throws -> BackupSummary {
        let before = try directory.base()
        if let before, let newest = try directory.numbers().last, before.number < newest {
            context.warn("run \(newest) of the backups in \(directory.path) can't be read: this one follows run \(before.number)")
        }
        let store = context.log.storeID.description
        if let before, before.store != store { throw EvstoreError.otherBackup(path: directory.path) }
        try directory.checkLedger(before, own: context.log.ledger(), provenBy: context.log.access.keys?.subjects.ring)
        try directory.sweep(overwriting: context.log.keyFile != nil)
        var shared = try directory.whole(before?.blocks ?? [], provenBy: context.log.access.keys?.codes)
        if let lost = before?.blocks.dropFirst(shared.count).first {
            context.warn("\(directory.path)/\(lost.file) is missing or damaged: this run has its blocks anew; verify the older runs")
        }
        let known = Set(shared.map(\.file))
        // A cut may have discarded the last events of the newest runs.
        while let last = shared.last, try last.base.map({ try context.log.holds($0) }) != true { shared.removeLast() }
        // A retired secret still opens the older files: blocks under the present keys are not appended to those.
        let slots = try context.log.slotsDigest()?.hex
        if shared.contains(where: { $0.slots != slots }) { shared = [] }
        let earlier = try before.flatMap { try directory.earlier($0, shared.last?.base, context) }
        let number = (try directory.numbers().last ?? 0).plus(1)
        shared = try directory.joined(shared, by: number, context)
        let rowsName = BackupDirectory.rowsName(number)
        let made = "blocks/\(number).new"
        var blocks = FileWriter(directory.path + "/" + made)
        var rows = FileWriter(directory.path + "/" + rowsName)
        let summary = try context.log.backUp(after: shared.last?.base, earlier) {
            try context.job.advance("backup", done: $0, total: $1)
        } to: { part, bytes in
            switch part {
            case .blocks: try blocks.write(bytes)
            case .rows: try rows.write(bytes)
            }
        }
        try rows.finish()
        let isNew = try blocks.finish()
        if Guard.backupRead.isOn {
            let own = (isNew ? [made] : []) + [rowsName]
            try EventLog.checkEnd(
                from: FileSequence(own.map { directory.path + "/" + $0 }).reading(context.job), after: shared.last?.base,
                position: summary.last.position, content: summary.content.hex)
        }
        if isNew {
            let taken = shared.map(\.file)
            var blocksName = BackupDirectory.blocksName(number, summary.last.position)
            // A run that adds no events ends where the files end that it has joined.
            if taken.contains(blocksName) { blocksName = BackupDirectory.blocksName(number, summary.last.position.next) }
            try Directory.rename(directory.path + "/" + made, to: directory.path + "/" + blocksName)
            shared.append(.init(file: blocksName, bytes: blocks.bytes, summary.base, slots: summary.slots))
        }
        let new = Array(shared.drop { known.contains($0.file) })
        let last = shared.dropLast(new.count).last?.frame
        if Guard.backupRead.isOn, try directory.whole(new, after: last, provenBy: context.log.access.keys?.codes).count < new.count {
            throw directory.damaged("the files of blocks of run \(number) do not follow each other")
        }
        for name in ["/blocks", "/rows"] { try Directory.sync(directory.path + name) }
        // Order: the ledger is durable before the run's own file, so that a restore of the run forgets the same streams.
        let forgotten = try directory.add(context.log.ledger())
        try directory.finish(
            .init(
                number: number, store: store, time: Timestamp.now.description, epoch: summary.last.epoch.rawValue,
                position: summary.last.position.rawValue, content: summary.content.hex, blocks: shared, rows: rowsName,
                forgotten: forgotten))
        return summary
    }
}

extension BackupReport {
    init(_ summary: BackupSummary, duration: Duration, pruned: Int) {
        self.init(
            position: summary.last.position, epoch: summary.last.epoch, content: summary.content.hex, bytes: summary.bytes,
            duration: duration, pruned: pruned)
    }
}

extension BackupDirectory {
    /// The rows of the run before, if the next one follows all of its blocks.
    fileprivate func earlier(_ run: Run, _ base: BackupBase?, _ context: MigrationContext) throws -> EarlierRun? {
        guard let base, run.blocks.last?.base == base, try Directory.status(path + "/" + run.rows) != nil else { return nil }
        let source = FileSequence([path + "/" + run.rows])
        return try EarlierRun(source.read, after: base, provenBy: context.log.access.keys?.codes)
    }
}

/// Writes a new file from its beginning to its end; creates it with the first bytes.
struct FileWriter {
    private let path: String
    private var file: File?
    private var offset = 0

    init(_ path: String) { self.path = path }

    var bytes: Int { offset }

    mutating func write(_ bytes: RawSpan) throws {
        if file == nil {
            try Directory.removeFiles(in: Directory.parent(of: path), overwriting: false) { $0 == Directory.name(of: path) }
            file = try File(path, .createNew)
        }
        try file?.write(bytes, at: offset)
        offset += bytes.byteCount
    }

    /// Makes the file durable; false where nothing was written, so that there is no file.
    @discardableResult
    func finish() throws -> Bool {
        try file?.sync()
        return file != nil
    }
}

/// Reads several files as one run of bytes.
final class FileSequence {
    private var paths: ArraySlice<String>
    private var file: File?
    private var offset = 0

    private let lock: File?

    /// - Parameter lock: a lock that is held as long as this is in use.
    init(_ paths: [String], holding lock: File? = nil) { (self.paths, self.lock) = (paths[...], lock) }

    private static func opened(_ path: String) throws -> File {
        do throws(StorageError) { return try File(path, .read) } catch {
            if error.isMissing { throw EvstoreError.backupDamaged(path: path, reason: "the file is missing") }
            throw error
        }
    }

    /// `read`, for a job that may be cancelled between two reads.
    func reading(_ job: Job) -> (Int) throws -> [UInt8] {
        { count in
            try job.check()
            return try self.read(count)
        }
    }

    /// Returns the next bytes, fewer than `count` only at the end of the last file.
    func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            if file == nil {
                guard let path = paths.popFirst() else { break }
                (file, offset) = (try Self.opened(path), 0)
            }
            let more = try file?.read(count - bytes.count, at: offset) ?? []
            if more.isEmpty { file = nil }
            offset += more.count
            bytes += more
        }
        return bytes
    }
}

/// The rows and the end of the run before, read beside the making of a run that follows it: what that run has proved, and what is still the
/// same, need not be proved again. Each frame is checked before it is used; from damage on, nothing is known.
final class EarlierRun {
    private var frames: FrameReader?
    private var subjects: ArraySlice<UInt8> = []
    private var end: LogEnd?

    /// - Parameters:
    ///   - source: returns the next bytes of the file of rows, fewer than asked for only at its end.
    ///   - base: where the run's blocks end.
    init(_ source: @escaping (Int) throws -> [UInt8], after base: BackupBase, provenBy codes: StoreCodes?) throws {
        var frames = FrameReader(source, after: (base.frame, base.frameLink))
        try frames.prove(by: codes)
        self.frames = frames
    }

    /// The next bytes of the file of subjects' keys; fewer than asked for only at its end.
    func nextSlots(_ count: Int) -> [UInt8] {
        while subjects.count < count, let frame = nextFrame() { if frame.kind == .subjects { subjects += frame.body } }
        defer { subjects = subjects.dropFirst(count) }
        return Array(subjects.prefix(count))
    }

    /// The digest of the content, if the log ended there as it does now.
    func content(asOf last: Checkpoint, _ link: Digest) -> Digest? {
        while nextFrame() != nil {}
        guard let end, end.last == last, end.link == link else { return nil }
        return end.content
    }

    /// Nil after the end, and from damage on.
    private func nextFrame() -> (kind: BackupFrame.Kind, body: [UInt8])? {
        guard end == nil else { return nil }
        do {
            let frame = try frames?.next()
            if let frame, frame.kind == .end { end = LogEnd(frame.body) }
            return frame
        } catch {
            frames = nil
            return nil
        }
    }
}

package struct BackupSummary: Hashable, Sendable {
    package var last: Checkpoint
    /// The digest of the events up to `last`.
    package var content: Digest
    package var bytes: UInt64
    /// Where the next backup can continue.
    package var base: BackupBase
    /// A digest over the slots of the keys in the frames; nil where there are none, or they have changed meanwhile.
    package var slots: Digest?
}

extension EventLog {
    /// What a part of the stream holds: blocks, which later backups share, or the current rows.
    package enum BackupPart { case blocks, rows }

    /// Passes the log as frames (`BackupFrame`) to `sink`, while appends go on, and checks every block. No transaction is open while `sink`
    /// runs.
    /// - Parameters:
    ///   - base: where an earlier backup ended: only later blocks are written, in frames that follow that backup's.
    ///   - earlier: that backup's rows.
    /// - Throws: `EvstoreError`: epochChanged where a cut has discarded blocks that were written already, corruptBlock.
    func backUp(
        after base: BackupBase? = nil, _ earlier: EarlierRun? = nil, progress: (UInt64, UInt64) throws -> Void = { _, _ in },
        to sink: (BackupPart, RawSpan) throws -> Void
    ) throws -> BackupSummary {
        defer { withExtendedLifetime(self) {} }
        var frames = FrameWriter(after: base.map { ($0.frame, $0.frameLink) }, access.keys?.codes)
        var pass = BackupPass(access, options, after: base?.last)
        do {
            var body = ByteBuffer(capacity: BackupFrame.bytesWanted)
            let keys = try pass.changedKeys()
            if base == nil {
                body.append(storeID.bytes)
                body.append(littleEndian: Timestamp.now.microseconds)
                try frames.write(.beginning, body.bytes) { try sink(.blocks, $0) }
            }
            if let keys { try frames.write(.keys, keys.lent) { try sink(.blocks, $0) } }
            while true {
                body.removeAll()
                let end = try access.environment.read { try pass.readBlocks(into: &body, $0) }
                if body.count > 0, let changed = try pass.changedKeys() {
                    try frames.write(.keys, changed.lent) { try sink(.blocks, $0) }
                }
                if body.count > 0 { try frames.write(.blocks, body.bytes) { try sink(.blocks, $0) } }
                try progress(pass.scan.done.rawValue, pass.last.rawValue)
                guard let end else { continue }
                try makeDurable()
                let next = BackupBase(last: end.last, link: end.link, frame: frames.last, frameLink: frames.link)
                if let changed = try pass.changedKeys() { try frames.write(.keys, changed.lent) { try sink(.rows, $0) } }
                var slots = EarlierSlots { earlier?.nextSlots($0) ?? [] }
                try access.keys?.subjects.copy(noted: end.slots, &slots) { part in
                    try frames.write(.subjects, part.lent) { try sink(.rows, $0) }
                }
                for rows in end.rows { try frames.write(.rows, rows.lent) { try sink(.rows, $0) } }
                let content =
                    if let hasher = pass.hasher {
                        try digest(of: hasher)
                    } else if !slots.haveChanged, let known = earlier?.content(asOf: end.last, end.link) {
                        known
                    } else {
                        try contentDigest(asOf: end.last) { try progress($0.rawValue, end.last.position.rawValue) }
                    }
                let logEnd = LogEnd(last: end.last, link: end.link, content: content).encoded
                try frames.write(.end, logEnd.lent) { try sink(.rows, $0) }
                return BackupSummary(last: end.last, content: content, bytes: frames.bytes, base: next, slots: pass.slots)
            }
        } catch let error as StorageError { throw EvstoreError(converting: error, at: path, doing: "backing up the store") } catch let
            damage as BackupDamage
        {
            throw EvstoreError.ioFailure(doing: "backing up \(path)", reason: damage.reason)
        }
    }

    private func contentDigest(asOf last: Checkpoint, progress: (Position) throws -> Void) throws -> Digest {
        let digest = try contentDigest(through: last.position, progress: progress)
        let now = try read { $0.last }
        if now.epoch != last.epoch { throw EvstoreError.epochChanged(seen: last, cut: now) }
        return digest
    }

    /// Whether the log still has the last block of a backup.
    package func holds(_ base: BackupBase) throws -> Bool {
        try read { reader in
            guard base.last.position <= reader.last.position else { return false }
            guard base.last.position > .start else { return true }
            return try reader.blockEnd(at: base.last.position) == base.link
        }
    }
}

/// The progress of a backup between its read transactions.
private struct BackupPass {
    /// The end of the log, and its other rows, in the transaction that reached it.
    struct End {
        var last: Checkpoint
        var link: Digest
        /// How many slots of the file of subjects' keys events may name.
        var slots: UInt32
        var rows: [[UInt8]]
    }

    private let access: LogAccess
    private(set) var scan: LogScan
    /// Nil for a backup that continues another one, whose blocks alone don't give the digest of the content.
    private(set) var hasher: ContentHasher?
    private(set) var last = Position.start
    private var keys: UInt64?
    private(set) var slots: Digest?

    init(_ access: LogAccess, _ options: Options, after last: Checkpoint?) {
        self.access = access
        scan = LogScan(access, options, after: last?.position ?? .start, in: last?.epoch, form: .sealed)
        hasher = last == nil ? ContentHasher() : nil
    }

    /// Returns the key file if it has changed since the last call. It has the key of every event that was read so far, since a key is in it
    /// before anything is sealed under the key.
    mutating func changedKeys() throws -> [UInt8]? {
        guard let current = try access.keys?.current(), current.generation != keys else { return nil }
        slots = keys == nil || slots == current.slots ? current.slots : nil
        keys = current.generation
        return current.bytes
    }

    /// Copies the next blocks; returns the log's end if they are the last ones.
    mutating func readBlocks(into body: inout ByteBuffer, _ transaction: borrowing ReadTransaction) throws -> End? {
        last = try Blocks.last(transaction, access)
        _ = try scan.runChunk(transaction) { block in
            body.append(block.bytes)
            if hasher != nil { try access.openWithoutPersons(block) { try hasher?.add($0, access.names) } }
            return body.count < BackupFrame.bytesWanted
        }
        if scan.done < last { return nil }
        let now = try StateRows.numbers(transaction, access.tables).epoch
        let rows = try BackupRows.bodies(transaction, access.tables)
        return End(
            last: Checkpoint(epoch: now, position: last), link: try Blocks.endLink(transaction, access),
            slots: try StateRows.slots(transaction, access.tables), rows: rows)
    }
}
