internal import EventModel
internal import LMDB

/// Writes the index tables of a log that is not in use yet, one part of the log after the other, so that memory is bounded.
enum Reindexing {
    private static let eventsAtOnce: UInt64 = 250_000

    /// - Parameter progress: runs between the parts; an error that it throws ends the work.
    static func run(_ access: LogAccess, _ progress: () throws -> Void) throws {
        while try indexNext(access) { try progress() }
    }

    private static func indexNext(_ access: LogAccess) throws -> Bool {
        try access.environment.write { transaction in try indexNext(&transaction, access) }
    }

    /// False where nothing is left to do.
    private static func indexNext(_ transaction: inout WriteTransaction, _ access: LogAccess) throws -> Bool {
        let numbers = try StateRows.numbers(transaction.reads, access.tables)
        var entries = IndexEntries()
        let target = try gather(&entries, after: numbers.indexed, through: nil, transaction.reads, access)
        if target == numbers.indexed { return false }
        var sweep = Sweep(entries, from: numbers.indexed, numbers.epoch, through: target)
        return try sweep.write(.max, &transaction, access.tables) { stream, _ in entries.heads[stream] }
    }

    // MARK: Indexes that older stores lack

    /// Completes each index that the store lacks, or that programs without it have not kept up to date.
    static func complete(_ access: LogAccess) throws {
        for index in access.tables.positionIndexes { while try completeNext(index, access) {} }
    }

    /// False where nothing is left to do.
    private static func completeNext(_ index: PositionIndex, _ access: LogAccess) throws -> Bool {
        let isComplete = try access.environment.read { transaction in
            try index.mark(transaction) == StateRows.numbers(transaction, access.tables).indexedTo
        }
        if isComplete { return false }
        return try access.environment.write { transaction in
            try access.ahead?.apply(&transaction)
            return try completeNext(index, &transaction, access)
        }
    }

    private static func completeNext(_ index: PositionIndex, _ transaction: inout WriteTransaction, _ access: LogAccess) throws -> Bool {
        let wanted = try StateRows.numbers(transaction.reads, access.tables).indexedTo
        let mark = try index.mark(transaction.reads)
        if mark == wanted { return false }
        var done = Position.start
        if let mark, mark.epoch == wanted.epoch, mark.position < wanted.position {
            done = mark.position
        } else {
            // After a cut it is unknown which of the older rows are still right.
            try index.removeAll(&transaction)
        }
        var entries = IndexEntries()
        let target = try gather(&entries, after: done, through: wanted.position, transaction.reads, access)
        for (key, position) in (entries.positions[index.name] ?? [:]).sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            try index.put(key, position, &transaction)
        }
        let end = min(target, wanted.position)
        try index.put(mark: Checkpoint(epoch: wanted.epoch, position: end), &transaction)
        return end < wanted.position
    }

    private static func gather(
        _ entries: inout IndexEntries, after position: Position, through end: Position?, _ transaction: borrowing ReadTransaction,
        _ access: LogAccess
    ) throws -> Position {
        var last = position
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try cursor.seek(position.next.rawValue)
        while isThere, entries.events < eventsAtOnce, end.map({ last < $0 }) ?? true {
            let block = try Blocks.view(cursor, access)
            entries.add(block, after: last, access.tables.positionIndexes)
            last = block.last
            isThere = try cursor.next()
        }
        return last
    }
}
