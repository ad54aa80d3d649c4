internal import EventModel
internal import LMDB

/// How a commit becomes durable: ahead of the log, or by LMDB.
extension CommitSession {
    private static let backToBackInterval = Duration.milliseconds(100)

    /// Makes the blocks of a transaction that writes nothing else durable: ahead of the log, where that is quicker; otherwise LMDB does it.
    mutating func makeDurable(from first: Position, through last: Position, _ transaction: inout WriteTransaction) throws {
        let began = ContinuousClock.now
        let isBackToBack = ahead.isHolding || ended.map { $0.duration(to: began) < Self.backToBackInterval } ?? false
        if isBackToBack, try ahead.write(blocks, from: first, through: last, transaction.reads) {
            transaction.setSyncing(false)
            sync = .took(began.duration(to: .now))
        } else {
            try beginSyncing(&transaction)
        }
    }

    /// Has LMDB make the transaction durable, and so ends a round ahead of the log.
    mutating func beginSyncing(_ transaction: inout WriteTransaction) throws {
        sync = .began(.now)
        try ahead.endRound()
        transaction.setSyncing(true)
    }

    /// Blocks that were taken in are committed.
    mutating func noteTakenIn(_ last: Position) {
        ahead.confirm(last)
        ended = .now
    }
}
