internal import Bytes
package import EventModel
package import Hashing
package import LMDB

/// The epochs of the log. Each one after the first has a row that says where the log was cut when it began.
package enum Epochs {
    /// The link that the first block of the first epoch continues.
    package static func genesis(_ storeID: StoreID) -> Digest { SHA256Hasher.hash(storeID.bytes) }

    /// The link that the first block after a cut continues: the hash of the link at the cut and the epoch's row.
    package static func link(_ epoch: Epoch, cut: Position, link: Digest) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(link.bytes)
        hasher.update(sortable(epoch.rawValue))
        hasher.update(row(cut, link))
        return hasher.finalize()
    }

    package static func put(_ epoch: Epoch, cut: Position, link: Digest, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.epochs.put(sortable(epoch.rawValue).lent, row(cut, link).lent, &transaction)
    }

    /// Where the log was cut when `epoch` began, and the link there; nil for the first epoch.
    static func cut(_ epoch: Epoch, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> (at: Position, link: Digest)? {
        guard let row = try tables.epochs.get(sortable(epoch.rawValue).lent, transaction) else { return nil }
        guard row.byteCount == 40, let link = Digest(row.slice(8, 32)) else { throw damaged(epoch) }
        return (Position(row.load(UInt64.self, at: 0)), link)
    }

    /// For each epoch after the first, in rising order: the epoch, and the position of the cut that began it.
    static func all(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> [Checkpoint] {
        var cuts: [Checkpoint] = []
        try tables.epochs.forEach(transaction) { key, value in
            guard let cut = cut(key, value) else { throw damaged(epoch(key)) }
            cuts.append(cut)
            return true
        }
        return cuts
    }

    /// The epoch of a row and the cut that began it; nil where the bytes are no such row.
    package static func cut(_ key: RawSpan, _ value: RawSpan) -> Checkpoint? {
        guard epoch(key) > .first, epoch(key) < Epoch(.max), value.byteCount == 40 else { return nil }
        let cut = Checkpoint(epoch: epoch(key), position: Position(value.load(UInt64.self, at: 0)))
        return cut.position <= .largest ? cut : nil
    }

    private static func epoch(_ key: RawSpan) -> Epoch { Epoch(key.byteCount == 4 ? key.load(UInt32.self, at: 0).byteSwapped : 0) }

    private static func row(_ cut: Position, _ link: Digest) -> [UInt8] { bytes(cut.rawValue) + link.bytes }

    private static func damaged(_ epoch: Epoch) -> EvstoreError {
        .corruptBlock(position: .start, reason: "the row of epoch \(epoch) in the table epochs is none that a store has written")
    }
}

extension Checkpoint {
    /// The cut that removed events which a reader up to here has seen; nil where all of them are still in the log. If there are several
    /// such cuts, the one with the lowest position: a reader that goes back to it has seen nothing that any of them removed.
    ///
    /// A caller that needs exactly the same log, such as for a digest or a copy of all of it, compares epochs instead.
    /// - Parameter cuts: all cuts, each with the epoch that it began.
    package func cutOff(by cuts: [Checkpoint]) -> Checkpoint? {
        cuts.filter { $0.epoch > epoch && $0.position < position }.min { $0.position < $1.position }
    }
}

extension LogReader {
    /// - Throws: `EvstoreError.epochChanged` where a cut has removed events that a reader at a checkpoint has seen.
    package func requireUncut(_ seen: Checkpoint) throws {
        if let cut = try seen.cutOff(by: cuts()) { throw EvstoreError.epochChanged(seen: seen, cut: cut) }
    }
}
