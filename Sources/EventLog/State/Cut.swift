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
        for table in access.tables.descriptors where table.isIndex { try access.tables[table]?.removeAll(&transaction) }
        return .start
    }

    /// Removes the rows that name later positions.
    static func removeRows(beyond position: Position, _ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        for table in access.tables.descriptors {
            guard let rows = access.tables[table], table.kept?.hasPositions == true else { continue }
            try remove(rows, beyond: position, &transaction)
        }
    }

    private static func remove(_ rows: RowTable, beyond position: Position, _ transaction: inout WriteTransaction) throws {
        for row in try Rows.all([], transaction.reads, rows) {
            guard row.value.count >= 8 else { throw Indexes.damaged(rows.name) }
            if row.value.lent.load(UInt64.self, at: 0) > position.rawValue { try rows.delete(row.key.lent, &transaction) }
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
