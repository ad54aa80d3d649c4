internal import EventModel
internal import LMDB

/// Writes the index tables of a log that is not in use yet, one part of the log after the other, so that memory is bounded.
enum Reindexing {
    private static let eventsAtOnce: UInt64 = 250_000

    /// - Parameter progress: runs between the parts; an error that it throws ends the work.
    static func run(_ access: LogAccess, _ progress: () throws -> Void) throws {
        while try access.environment.write(nil, { try indexNext(&$0, access) }) { try progress() }
    }

    /// False where nothing is left to do.
    private static func indexNext(_ transaction: inout WriteTransaction, _ access: LogAccess) throws -> Bool {
        let numbers = try StateRows.numbers(transaction.reads, access.tables)
        var entries = IndexEntries()
        var target = numbers.indexed
        try Blocks.forEach(after: target, transaction.reads, access) { block in
            entries.add(block, after: target)
            target = block.last
            return entries.events < eventsAtOnce
        }
        if target == numbers.indexed { return false }
        var sweep = Sweep(entries, from: numbers.indexed, numbers.epoch, through: target)
        return try sweep.write(.max, &transaction, access.tables) { stream, _ in entries.heads[stream] }
    }
}
