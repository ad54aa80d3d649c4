internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import LMDB
internal import Platform
internal import Projections

/// What a backup has written.
package struct BackupSummary: Hashable, Sendable {
    package var last: Checkpoint
    /// The digest of the events up to `last`.
    package var content: Digest
    /// The bytes of the frames that were written.
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
        /// The bodies of frames.
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
