internal import Bytes
package import EventModel
package import Hashing
package import LMDB

/// Marks a store as a replica of another store's backups, and says which backup it holds: the row "replica" of the table `state`. Nothing
/// is appended while the row exists. It is written in the transaction that takes in the end of that backup, so that a replica which was
/// killed before takes it in again.
///
///     0    u64  number of the run in its directory, 0 for a backup that came through a pipe
///     8    i64  when it was made, microseconds since 1970
///     16   u32  epoch and u64 position of its last event
///     28   32   link of its last block
///     60   u64  number of the frame that ends its blocks, 0 for a pipe
///     68   32   link of that frame
///     100       the directory, UTF-8; empty for a pipe
package struct ReplicaMark: Hashable, Sendable {
    /// The directory of the backups; empty where they come through a pipe.
    package var source: String
    package var run: UInt64
    package var time: Timestamp
    package var base: BackupBase

    package init(source: String, run: UInt64, time: Timestamp, base: BackupBase) {
        (self.source, self.run, self.time, self.base) = (source, run, time, base)
    }
}

/// Where the blocks of a backup's file end, and the frame that ends them: a later backup continues from here.
package struct BackupBase: Hashable, Sendable {
    package var last: Checkpoint
    package var link: Digest
    /// The number and the link of the frame that holds it.
    package var frame: UInt64
    package var frameLink: Digest

    package init(last: Checkpoint, link: Digest, frame: UInt64, frameLink: Digest) {
        (self.last, self.link, self.frame, self.frameLink) = (last, link, frame, frameLink)
    }
}

extension StateRows {
    private static let replicaKey = Array("replica".utf8)
    private static let fixedBytes = 100

    package static func replica(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> ReplicaMark? {
        guard let row = try tables.state.get(replicaKey.lent, transaction) else { return nil }
        guard row.byteCount >= fixedBytes, let source = String(utf8: row.slice(fixedBytes, row.byteCount - fixedBytes)),
            let link = Digest(row.slice(28, 32)), let frameLink = Digest(row.slice(68, 32))
        else { throw EvstoreError.corruptBlock(position: .start, reason: "the row \"replica\" of the table state has the wrong length") }
        let last = Checkpoint(epoch: Epoch(row.load(UInt32.self, at: 16)), position: Position(row.load(UInt64.self, at: 20)))
        guard last.position <= .largest, last.epoch < Epoch(.max) else {
            throw foreign("replica", "says that it ends at position \(last.position) of epoch \(last.epoch)")
        }
        return ReplicaMark(
            source: source, run: row.load(UInt64.self, at: 0), time: Timestamp(microseconds: row.load(Int64.self, at: 8)),
            base: BackupBase(last: last, link: link, frame: row.load(UInt64.self, at: 60), frameLink: frameLink))
    }

    static func put(_ mark: ReplicaMark, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        var row = ByteBuffer(capacity: 256)
        row.append(littleEndian: mark.run)
        row.append(littleEndian: mark.time.microseconds)
        row.append(littleEndian: mark.base.last.epoch.rawValue)
        row.append(littleEndian: mark.base.last.position.rawValue)
        row.append(mark.base.link.bytes)
        row.append(littleEndian: mark.base.frame)
        row.append(mark.base.frameLink.bytes)
        row.append(mark.source)
        try tables.state.put(replicaKey.lent, row.bytes, &transaction)
    }

    package static func removeReplica(_ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.state.delete(replicaKey.lent, &transaction)
    }
}

extension EventLog {
    package func replica() throws -> ReplicaMark? {
        defer { withExtendedLifetime(self) {} }
        guard isReplica else { return nil }
        return try access.environment.read { try StateRows.replica($0, access.tables) }
    }

    /// Refuses work that a replica can't do.
    /// - Throws: `EvstoreError.replica`.
    package func requireOwn() throws(EvstoreError) {
        do {
            if let mark = try replica() { throw EvstoreError.replica(path: path, source: mark.source) }
        } catch { throw storeError(error, path, doing: "reading the store") }
    }
}

/// What a replica's log takes in, and how a replica becomes a store of its own.
extension LogUpdate {
    /// Takes in blocks that follow the log's end; the store's rows know their epochs already.
    /// - Throws: `EvstoreError.corruptBlock`.
    package mutating func takeIn(_ blocks: RawSpan) throws {
        var intake = try BlockIntake(transaction.reads, access, isOfThisEpoch: false)
        if let gap = try intake.add(blocks, &transaction) {
            throw EvstoreError.corruptBlock(position: gap, reason: "it does not follow the block before it")
        }
        try readEnd()
    }

    package mutating func put(_ mark: ReplicaMark) throws {
        try StateRows.put(mark, &transaction, access.tables)
        try readEnd()
    }

    /// The link of the log's last block.
    package func endLink() throws -> Digest { try Blocks.endLink(transaction.reads, access) }

    /// Makes a replica a store of its own, in the next epoch or `later`, since its original may go on with other events.
    package mutating func promote(later: Epoch) throws {
        try StateRows.removeReplica(&transaction, access.tables)
        isPromoted()
        try beginEpoch(later: later)
    }
}
