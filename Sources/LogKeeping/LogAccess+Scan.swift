internal import EventLog
internal import EventModel
internal import LMDB

extension LogAccess {
    /// Lends the decrypted blocks of a log under construction or a copied one, up to a position or the log's end, in short read
    /// transactions.
    func scan(_ options: Options, through last: Position? = nil, _ body: (borrowing BlockView) throws -> Void) throws {
        var scan = LogScan(self, options, after: .start, through: last)
        while try environment.read({ transaction in
            try scan.runChunk(transaction) { block in
                try body(block)
                return true
            }
        }) {}
    }
}
