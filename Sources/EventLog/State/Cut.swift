internal import Bytes
package import EventModel
package import Hashing
package import LMDB

/// Removes the log's end, within the transaction of an update.
package enum Cut {
    /// Removes the events after a position. O(removed events).
    /// - Returns: the link of the last remaining block; how far the indexes are written.
    package static func run(
        to position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess
    ) throws -> (link: Digest, indexed: Position) {
        let tables = access.tables
        // Order: the indexes come first, while the events are there that say which entries to remove.
        let indexed = try shortenIndexes(to: position, &transaction, access)
        while let first = try lastFirst(transaction.reads, access), first > position {
            try transaction.delete(tables.blocks, bytes(first.rawValue).lent)
        }
        try shortenLast(to: position, &transaction, access)
        try removeRows(beyond: position, &transaction, access)
        return (try Blocks.endLink(transaction.reads, access), indexed)
    }

    /// The link after a cut of a node, computed without cutting. This works because nodes are not sealed: a sealed block that is rewritten
    /// has another salt, and so another link, each time.
    package static func link(at position: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Digest {
        var writer = BlockWriter(access)
        if try copyStraddling(position, into: &writer, transaction, access) != nil {
            try writer.finish { _, _ in }
            return writer.lastLink
        }
        return try Blocks.holding(position, transaction, access)?.link ?? Epochs.genesis(access.storeID)
    }

    /// Returns how far the indexes are written. Damaged indexes are emptied, and rebuilt from the log when they are next needed.
    private static func shortenIndexes(
        to position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess
    ) throws -> Position {
        do { return try IndexTruncation.run(after: position, &transaction, access) } catch let error as EvstoreError {
            guard case .corruptBlock = error else { throw error }
        }
        for table in TableDescriptor.log where table.isIndex { try access.tables[table]?.removeAll(&transaction) }
        return .start
    }

    /// Removes the rows that name later positions.
    static func removeRows(beyond position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        for table in TableDescriptor.log {
            guard let rows = access.tables[table], table.kept?.hasPositions == true else { continue }
            for row in try Rows.all([], transaction.reads, rows) {
                guard row.value.count >= 8 else { throw Indexes.damaged(rows.name) }
                if row.value.lent.load(UInt64.self, at: 0) > position.rawValue { try rows.delete(row.key.lent, &transaction) }
            }
        }
    }

    private static func lastFirst(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Position? {
        var cursor = transaction.cursor(access.tables.blocks)
        return try cursor.last() ? Blocks.position(cursor.key) : nil
    }

    /// Rewrites the last block if it reaches beyond the cut.
    private static func shortenLast(to position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        var writer = BlockWriter(access)
        guard let first = try copyStraddling(position, into: &writer, transaction.reads, access) else { return }
        try transaction.delete(access.tables.blocks, bytes(first.rawValue).lent)
        try writer.finish { try transaction.append(access.tables.blocks, bytes($0.rawValue).lent, $1) }
    }

    private static func copyStraddling(
        _ position: Position, into writer: inout BlockWriter, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> Position? {
        guard position > .start, let block = try Blocks.holding(position, transaction, access), block.last > position else { return nil }
        let link = try Blocks.link(before: block, transaction, access)
        writer.begin(block.epoch, first: block.first, link: link, time: block.time)
        var opener = access.keys.map { RecordOpener($0, access.storeID) }
        for index in 0 ... Int(clamping: position.events(after: block.first)) {
            try writer.add(copyOf: block.record(index), of: block, access.names, &opener)
        }
        return block.first
    }
}

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

extension LogUpdate {
    /// Whether no cut has removed events that a reader at a checkpoint has seen.
    package func isUncut(_ seen: Checkpoint) throws -> Bool { try cutOff(seen) == nil }

    /// - Throws: `EvstoreError.epochChanged` where a cut has removed events that a reader at a checkpoint has seen.
    package func requireUncut(_ seen: Checkpoint) throws {
        if let cut = try cutOff(seen) { throw EvstoreError.epochChanged(seen: seen, cut: cut) }
    }

    private func cutOff(_ seen: Checkpoint) throws -> Checkpoint? {
        try seen.cutOff(by: Epochs.all(transaction.reads, access.tables))
    }
}
