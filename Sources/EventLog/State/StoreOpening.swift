internal import EventModel
internal import LMDB
internal import System

/// How a process comes to have a store open: the log is whole before it does, and its pages are what LMDB may follow.
enum StoreOpening {
    /// A look at a large log takes some seconds, and whoever comes meanwhile waits for it.
    private static let waitSeconds = 600

    /// Takes the lock that says so, after what a crash has left is put right and a file that nobody vouches for is checked.
    /// - Throws: `EvstoreError`: locked, storeDamaged, ioFailure.
    static func enter(
        _ store: String, _ storeID: StoreID, _ options: Options, _ tables: [TableDescriptor] = TableDescriptor.log
    ) throws -> HeldLock {
        while true {
            if let presence = try putRight(store, storeID, options, tables) { return presence }
            let presence = try shareInTurn(store, storeID)
            // Between the look and the lock others may have come in, crashed, and been put right by half.
            if try !AheadRecovery.isDue(at: store, storeID) { return presence }
            try presence.release()
        }
    }

    private static func isDoubtful(_ store: String, _ storeID: StoreID) throws -> Bool {
        try AheadRecovery.isDue(at: store, storeID) || LogFile.isDoubtful(at: store)
    }

    /// Sees to it that the log is whole; nil where there is no doubt.
    private static func putRight(
        _ store: String, _ storeID: StoreID, _ options: Options, _ tables: [TableDescriptor]
    ) throws -> HeldLock? {
        while try isDoubtful(store, storeID) {
            // Order: who finds a doubt comes in one after the other, and takes the store's lock before the next
            // one looks. So whoever gets it alone knows that nobody is in, and whoever does not that the log is whole.
            guard let opening = try wait(for: store, storeID) else {
                if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, isShared: true, tables) }
                return try shareSoon(store)
            }
            defer { withExtendedLifetime(opening) {} }
            guard try isDoubtful(store, storeID) else { continue }
            guard let presence = try StoreLock.presence.acquireIfFree(at: store, what: "looks at the log after a crash") else {
                return try share(store)
            }
            guard try AheadRecovery.isDue(at: store, storeID) else {
                try LogFile.check(at: store, tables)
                // Order: shared before others find no doubt any more.
                try presence.take(shared: true, what: "")
                try LogFile.vouch(at: store)
                return presence
            }
            guard let round = try AheadRecovery.run(at: store, storeID, options, tables) else { continue }
            // Order: the end of the round is durable before others come in: what they see and append stands on it.
            try AheadRecovery.finish(round, at: store)
            try presence.take(shared: true, what: "")
            return presence
        }
        return nil
    }

    private static func share(_ store: String) throws -> HeldLock {
        try StoreLock.presence.acquire(at: store, shared: true, what: "has it open")
    }

    /// The same for who was in no doubt: whoever was has the store alone for a moment, and the lock on coming in.
    private static func shareInTurn(_ store: String, _ storeID: StoreID) throws -> HeldLock {
        do { return try share(store) } catch let error as EvstoreError {
            guard case .locked = error else { throw error }
            guard let opening = try wait(for: store, storeID) else { return try shareSoon(store) }
            defer { withExtendedLifetime(opening) {} }
            return try share(store)
        }
    }

    /// The same for who can't take the lock on coming in, because it can't write the store: tries again for a second.
    private static func shareSoon(_ store: String) throws -> HeldLock {
        for _ in 0 ..< 20 {
            if let presence = try StoreLock.presence.acquireIfFree(at: store, shared: true, what: "has it open") { return presence }
            try checkCancellation(store)
            _ = Monitor(false).wait(milliseconds: 50) { $0 }
        }
        return try share(store)
    }

    private static func checkCancellation(_ store: String) throws {
        if Task.isCancelled { throw EvstoreError.interrupted(again: "open \(store) again") }
    }

    /// The lock on coming in; nil where the store can't be written and the log is whole all the same.
    private static func wait(for store: String, _ storeID: StoreID) throws -> HeldLock? {
        let end = ContinuousClock.now + .seconds(waitSeconds)
        while true {
            do {
                if let held = try StoreLock.opening.acquireIfFree(at: store, what: "opens it after a crash") { return held }
            } catch let error as StorageError where error.isReadOnly {
                if try !AheadRecovery.isDue(at: store, storeID) || AheadRecovery.isOfThisBoot(at: store, storeID) { return nil }
                throw EvstoreError.ioFailure(
                    doing: "opening \(store)",
                    reason: "the machine stopped while events were appended, and what it left must be put right: open the store once "
                        + "where it can be written")
            }
            try checkCancellation(store)
            if ContinuousClock.now > end { return try StoreLock.opening.acquire(at: store, what: "opens it after a crash") }
            _ = Monitor(false).wait(milliseconds: 5) { $0 }
        }
    }
}
