internal import EventModel
internal import LMDB

/// How a process comes to have a store open: the log is whole before it does.
enum StoreEntrance {
    private static let waitSeconds = 30

    /// Takes the lock that says so, after what a crash has left is put right.
    /// - Throws: `EvstoreError`: locked, storeDamaged, ioFailure.
    static func enter(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock {
        while true {
            if let presence = try putRight(store, storeID, options) { return presence }
            let presence = try share(store)
            // Between the look and the lock others may have come in, crashed, and been put right by half.
            if try !AheadRecovery.isDue(at: store, storeID) { return presence }
            try presence.release()
        }
    }

    /// Sees to it that the log is whole where a round is running; nil where none is.
    private static func putRight(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock? {
        while try AheadRecovery.isDue(at: store, storeID) {
            // Order: who finds a round running comes in one after the other, and takes the store's lock before the next
            // one looks. So whoever gets it alone knows that nobody is in, and whoever does not that the log is whole.
            guard let opening = try wait(for: store, storeID) else { return try share(store) }
            defer { withExtendedLifetime(opening) {} }
            guard try AheadRecovery.isDue(at: store, storeID) else { continue }
            guard let presence = try StoreLock.presence.acquireIfFree(at: store, what: "puts the log right after a crash") else {
                return try share(store)
            }
            guard let round = try AheadRecovery.run(at: store, storeID, options) else { continue }
            // Order: shared before the round ends, when others need not wait any more.
            try presence.take(shared: true, what: "")
            try AheadRecovery.finish(round, at: store)
            return presence
        }
        return nil
    }

    private static func share(_ store: String) throws -> HeldLock {
        try StoreLock.presence.acquire(at: store, shared: true, what: "has it open")
    }

    /// The lock on coming in; nil where the store can't be written and the log is whole all the same.
    private static func wait(for store: String, _ storeID: StoreID) throws -> HeldLock? {
        let end = ContinuousClock.now + .seconds(waitSeconds)
        while true {
            do {
                if let held = try StoreLock.opening.acquireIfFree(at: store, what: "opens it after a crash") { return held }
            } catch let error as LMDBError where error.isReadOnly {
                if try AheadRecovery.isOfThisBoot(at: store, storeID) { return nil }
                throw EvstoreError.ioFailure(
                    doing: "opening \(store)",
                    reason: "the machine stopped while events were appended, and what it left must be put right: open the store once "
                        + "where it can be written")
            }
            if ContinuousClock.now > end { return try StoreLock.opening.acquire(at: store, what: "opens it after a crash") }
            _ = Monitor(false).wait(milliseconds: 5) { $0 }
        }
    }
}
