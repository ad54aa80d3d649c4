internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// The beginning of a turn to write: the session catches up with what other writers have left.
extension CommitSession {
    /// Brings the session's knowledge of the log up to date with what other writers have left. Does nothing if no other writer can have had
    /// a turn since the session's last one.
    mutating func begin(_ turn: WriteTurn) throws {
        let isContinued = turn.isContinued && turn.number == knownTurn.map { $0 + 1 }
        if isContinued { try ahead.words?.requireSound() } else { try catchUp(turn) }
        // Order: noted last, so that no turn continues one that has failed.
        knownTurn = turn.number
    }

    private mutating func catchUp(_ turn: WriteTurn) throws {
        left = nil
        try access.environment.checkFiles(turn)
        guard let words = ahead.words else { return try requireNothingAhead() }
        try settle(words)
        try words.requireSound()
        let access = access
        let (last, isApplied, link) = try access.environment.read { transaction in
            let last = try Blocks.end(transaction, access)
            return (last, transaction.ahead == nil, try words.isOpen ? Blocks.lastLink(transaction, access, last.epoch) : .zero)
        }
        if let end = try ahead.takeOver(after: last, isApplied: isApplied, link: link, access) { words.acknowledge(end) }
        // Order: what can be read in LMDB is made durable before anything is built on it.
        if Guard.durableBase.isOn, words.durableTransaction != (try access.environment.lastTransaction) { _ = try checkpoint(turn) }
    }

    /// Makes the words of the page agree with the header of `log/ahead`: the page may be another store's, or the file an older copy.
    private mutating func settle(_ words: AheadPage) throws {
        let isSettled = words.areValid && !words.hasFailed && (!words.isOpen || hasSettled)
        if isSettled { return }
        if try !AheadRecovery.isOpen(at: path) {
            // LMDB holds everything, whatever the page says.
            words.begin()
        } else if !words.areValid {
            try requireNothingAhead()
        }
        hasSettled = true
    }

    /// Without the page that the processes share, no process may write: this one would overwrite entries that are only in `log/ahead`.
    private func requireNothingAhead() throws {
        guard try AheadRecovery.isOpen(at: path) else { return }
        throw EvstoreError.ioFailure(
            doing: "appending",
            reason: "\(path)/log/turn can't be mapped, or is not the page of the other processes that have the store open")
    }

    /// Takes the writer's turn for work that no caller waits for. Waits for the holder until closing may wait no longer.
    mutating func turn(_ queue: CommitQueue) throws -> WriteTurn {
        let began = ContinuousClock.now
        if let turn = try access.environment.takeTurn(within: nil, while: { !queue.isGivenUp }) {
            try begin(turn)
            return turn
        }
        let holder = access.environment.writer ?? Environment.nobody
        throw EvstoreError.deadlinePassed(waited: began.duration(to: .now), holder: holder)
    }
}
