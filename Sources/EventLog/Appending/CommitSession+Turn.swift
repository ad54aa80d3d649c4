internal import EventModel
internal import Hashing
package import LMDB
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
        let began = Instant.now
        if let turn = try access.environment.takeTurn(within: nil, while: { !queue.isGivenUp }) {
            try begin(turn)
            return turn
        }
        let holder = access.environment.writer ?? Environment.nobody
        throw EvstoreError.deadlinePassed(waited: began.duration(to: .now), holder: holder)
    }
}

/// What the session writes along with commits, when they pause, and at the end: indexes, and what is ahead of LMDB.
extension CommitSession {
    /// Writes a part of the indexes along with a commit, if that is due; returns whether it did.
    /// - Parameter moment: the log before the commit.
    func carrySweep(_ swept: inout Sweep?, _ moment: LogSnapshot, events: Int, _ transaction: inout WriteTransaction) throws -> Bool {
        let waiting = moment.unswept
        if let sweep = swept, !sweep.fits(moment.numbers) { swept = nil }
        if swept == nil && waiting >= UInt64(options.sweepDueEvents) { swept = try Sweep(moment, transaction.reads, access) }
        guard var sweep = swept else { return false }
        let isForced = waiting >= UInt64(options.sweepForcedEvents)
        let isBig = events >= options.sweepSliceEntries / 8
        guard isForced || isBig else { return false }
        let isDone = try sweep.write(max(options.sweepSliceEntries, events * 2), &transaction, access.tables) {
            try moment.head($0, $1, access)
        }
        swept = isDone ? nil : sweep
        return true
    }

    mutating func finishSweep(_ queue: CommitQueue) throws {
        guard var rest = sweep else { return }
        sweep = nil
        var isDone = false
        while !isDone { isDone = try writeSlice(&rest, turn(queue)) }
    }

    /// Writes the indexes that are due after many events were taken in from a cluster log or a backup, so that memory stays bounded.
    package mutating func sweepTakenIn(_ turn: WriteTurn) throws {
        let access = access
        let overlays = overlays
        let due = UInt64(options.sweepForcedEvents)
        let found = try access.environment.read { transaction -> Sweep? in
            guard let moment = try LogSnapshot(transaction, access, overlays) else { return nil }
            if moment.unswept < due { return nil }
            return try Sweep(moment, transaction, access)
        }
        guard var rest = found else { return }
        sweep = nil
        while try !writeSlice(&rest, turn) {}
    }

    /// Writes the next slice in a transaction of its own; returns whether it was the last one.
    private mutating func writeSlice(_ rest: inout Sweep, _ turn: WriteTurn) throws -> Bool {
        var slice = rest
        let before = rest
        let isDone = try write(turn) { session, transaction in
            var transaction = transaction
            guard let moment = try LogSnapshot(transaction.reads, session.access, session.overlays), before.fits(moment.numbers) else {
                return true
            }
            // A body that runs again, after the map has grown, begins with the same slice.
            slice = before
            let access = session.access
            return try slice.write(65_536, &transaction, access.tables) { try moment.head($0, $1, access) }
        }
        rest = slice
        return isDone
    }

    // MARK: Pauses and the end

    /// Ends a round of commits, when appends pause: LMDB takes in what is ahead of it.
    mutating func endRound(_ queue: CommitQueue) throws {
        guard isHolding, let words = ahead.words else { return }
        let turn = try turn(queue)
        if words.isOpen {
            if try access.environment.read({ $0.ahead != nil }) { _ = try checkpoint(turn) }
            try ahead.close()
        }
        isHolding = false
    }

    /// Moves what is ahead into LMDB and ends the sweep, so that LMDB alone holds everything. After a failure of the disk nothing is
    /// claimed to be durable: the next process that opens the store alone recovers it.
    mutating func finish(_ queue: CommitQueue, afterFailure hasFailed: Bool) throws {
        if hasFailed { return }
        try endRound(queue)
        try finishSweep(queue)
    }
}
