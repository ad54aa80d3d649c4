internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// How a turn to write begins: with what other writers have left.
extension CommitSession {
    /// Brings what this session knows of the log to where other writers have left it; nothing where none can have had a turn since its last.
    mutating func begin(_ turn: WriteTurn) throws {
        let isContinued = turn.isContinued && turn.number == knownTurn.map { $0 + 1 }
        if isContinued { try ahead.words?.requireSound() } else { try catchUp(turn) }
        // Order: a turn that has failed is none that another one continues.
        knownTurn = turn.number
    }

    private mutating func catchUp(_ turn: WriteTurn) throws {
        left = nil
        try access.environment.look(turn)
        guard let words = ahead.words else { return try requireNothingAhead() }
        try settle(words)
        try words.requireSound()
        let access = access
        let (last, isApplied, link) = try access.environment.read { transaction in
            let last = try Blocks.end(transaction, access)
            return (last, transaction.ahead == nil, try words.isOpen ? Blocks.lastLink(transaction, access, last.epoch) : .zero)
        }
        if let end = try ahead.takeOver(after: last, isApplied: isApplied, link: link, access) { words.acknowledge(end) }
        // Order: what can be read of LMDB is durable before anything is built on it.
        if Guard.durableBase.isOn, words.durableTransaction != (try access.environment.lastTransaction) { _ = try checkpoint(turn) }
    }

    /// Makes the words of the page agree with the header of `log/ahead`, where another store's page or an older copy of the file lies there.
    private mutating func settle(_ words: AheadWords) throws {
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

    /// Without the page that processes share, nobody may use it: this one would write over what is in `log/ahead` alone.
    private func requireNothingAhead() throws {
        guard try AheadRecovery.isOpen(at: path) else { return }
        throw EvstoreError.ioFailure(
            doing: "appending",
            reason: "\(path)/log/turn can't be mapped, or is not the page of the other processes that have the store open")
    }

    /// The writer's turn for work that no caller waits for. Waits for the holder, until closing may not wait any longer.
    mutating func turn(_ queue: CommitQueue) throws -> WriteTurn {
        let began = ContinuousClock.now
        if let turn = try access.environment.takeTurn(within: nil, while: { !queue.isGivenUp }) {
            try begin(turn)
            return turn
        }
        let holder = access.environment.writer ?? Environment.nobody
        throw EvstoreError.deadlinePassed(seconds: began.duration(to: .now) / .seconds(1), holder: holder)
    }
}
