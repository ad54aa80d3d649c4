internal import EventModel
package import LMDB

extension CommitSession {
    /// Writes a part of the indexes along with a commit, where that is due; whether it has.
    /// - Parameter moment: the log before the commit.
    func carrySweep(_ swept: inout Sweep?, _ moment: Moment, events: Int, _ transaction: inout WriteTransaction) throws -> Bool {
        let waiting = moment.last.events(after: moment.numbers.indexed)
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

    /// Writes the rest of a sweep that is under way.
    mutating func finishSweep(_ queue: CommitQueue) throws {
        guard var rest = sweep else { return }
        sweep = nil
        var isDone = false
        while !isDone { isDone = try writeSlice(&rest, turn(queue)) }
    }

    /// Writes what is due of the indexes after many events were taken in from a cluster log or a backup, so that memory is bounded.
    package mutating func sweepTakenIn(_ turn: WriteTurn) throws {
        let access = access
        let overlays = overlays
        let due = UInt64(options.sweepForcedEvents)
        let found = try access.environment.read { transaction -> Sweep? in
            guard let moment = try Moment(transaction, access, overlays) else { return nil }
            if moment.last.events(after: moment.numbers.indexed) < due { return nil }
            return try Sweep(moment, transaction, access)
        }
        guard var rest = found else { return }
        sweep = nil
        while try !writeSlice(&rest, turn) {}
    }

    /// Writes the next slice in a transaction of its own; whether it was the last.
    private mutating func writeSlice(_ rest: inout Sweep, _ turn: WriteTurn) throws -> Bool {
        var slice = rest
        let before = rest
        let isDone = try write(turn) { session, transaction in
            var transaction = transaction
            guard let moment = try Moment(transaction.reads, session.access, session.overlays), before.fits(moment.numbers) else {
                return true
            }
            // A grown map runs this again.
            slice = before
            let access = session.access
            return try slice.write(65_536, &transaction, access.tables) { try moment.head($0, $1, access) }
        }
        rest = slice
        return isDone
    }
}
