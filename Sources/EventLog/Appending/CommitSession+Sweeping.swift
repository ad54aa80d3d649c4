internal import EventModel
package import LMDB

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

    /// Writes the rest of a sweep that has begun.
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
}
