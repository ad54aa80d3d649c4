internal import EventModel
internal import LMDB
internal import Platform

/// Acquires the presence lock of a store. First recovers a log that a crash has left, and checks the pages of a file that may be damaged,
/// since LMDB would follow damaged ones.
enum StoreOpening {
    /// How long to wait for another process that recovers the store: checking the pages of a large log takes some seconds.
    private static let waitSeconds = 600
    /// How long that process may be stopped (`SIGSTOP`, a debugger) before the wait for it ends.
    private static let stoppedSeconds = 5

    /// Acquires the presence lock; recovers the log and checks its pages first where that is needed.
    /// - Throws: `EvstoreError`: locked, storeDamaged, ioFailure.
    static func enter(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock {
        while true {
            if let presence = try recoverIfNeeded(store, storeID, options) { return presence }
            let presence = try shareInTurn(store, storeID)
            // Other processes may have opened the store and crashed since it was checked, and a recovery may have failed half way.
            if try !AheadRecovery.isDue(at: store, storeID) { return presence }
            try presence.release()
        }
    }

    private static func isDoubtful(_ store: String, _ storeID: StoreID) throws -> Bool {
        try AheadRecovery.isDue(at: store, storeID) || LogFile.isDoubtful(at: store)
    }

    /// Recovers the log under the opening lock; nil where no recovery is needed.
    private static func recoverIfNeeded(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock? {
        while try isDoubtful(store, storeID) {
            // Order: processes that see that a recovery is due take the opening lock one after the other, and the presence lock before the
            // next one looks. So a process that gets the presence lock exclusively knows that no other one has the store open, and one that
            // does not get it knows that the log is whole.
            guard let opening = try wait(for: store, storeID) else {
                if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, isShared: true) }
                return try shareSoon(store)
            }
            defer { withExtendedLifetime(opening) {} }
            guard try isDoubtful(store, storeID) else { continue }
            guard let presence = try StoreLock.presence.acquireIfFree(at: store, what: "looks at the log after a crash") else {
                return try shareSoon(store)
            }
            guard try AheadRecovery.isDue(at: store, storeID) else {
                try LogFile.check(at: store)
                // Order: the presence lock is shared before others see that no recovery is due any more.
                try presence.take(shared: true, what: "")
                try LogFile.markChecked(at: store)
                return presence
            }
            // Order: everything is durable before other processes open the store, since their appends build on it.
            try AheadRecovery.run(at: store, storeID, options)
            try presence.take(shared: true, what: "")
            return presence
        }
        return nil
    }

    /// Upgrades a store of an older format to this program's. Older programs must not have it open.
    /// - Throws: `EvstoreError.locked` where another process has it open.
    static func upgradeFormat(_ store: String, _ storeID: StoreID, _ options: Options) throws {
        if try Manifest.isFormatCurrent(at: store) { return }
        // Order: under the opening lock. If several programs start at once, one upgrades the store and the others find it upgraded.
        guard let opening = try wait(for: store, storeID) else { throw EvstoreError.readOnly(path: store) }
        defer { withExtendedLifetime(opening) {} }
        if try Manifest.isFormatCurrent(at: store) { return }
        // Waits for a process that has closed the store, or only reads its numbers.
        let presence = try takeSoon(store, shared: false, what: "brings it to the format of this program")
        defer { withExtendedLifetime(presence) {} }
        // Order: recovered first, so that no header of an older program is left.
        try AheadRecovery.run(at: store, storeID, options)
        try Manifest.upgradeFormat(at: store)
    }

    /// Acquires the presence lock, and tries again for a second.
    private static func takeSoon(_ store: String, shared: Bool, what: String) throws -> HeldLock {
        for _ in 0 ..< 50 {
            if let presence = try StoreLock.presence.acquireIfFree(at: store, shared: shared, what: what) { return presence }
            try checkCancellation(store)
            _ = Monitor(false).wait(milliseconds: 20) { $0 }
        }
        return try StoreLock.presence.acquire(at: store, shared: shared, what: what)
    }

    /// Acquires the presence lock where no recovery is needed; waits while another process recovers the store, or removes an empty one.
    private static func shareInTurn(_ store: String, _ storeID: StoreID) throws -> HeldLock {
        do { return try StoreLock.presence.acquire(at: store, shared: true, what: openWork) } catch let error as EvstoreError {
            guard case .locked = error else { throw error }
            let opening = try wait(for: store, storeID)
            defer { withExtendedLifetime(opening) {} }
            return try shareSoon(store)
        }
    }

    /// Acquires the presence lock, and tries again for a second: a process that has the store alone may be about to leave it, and a process
    /// that can't write the store can't take the opening lock.
    private static func shareSoon(_ store: String) throws -> HeldLock { try takeSoon(store, shared: true, what: openWork) }

    private static let openWork = "has it open"

    private static func checkCancellation(_ store: String) throws {
        if Task.isCancelled { throw EvstoreError.interrupted(again: "open \(store) again") }
    }

    /// Waits for the opening lock; nil where the store can't be written and no recovery is needed.
    private static func wait(for store: String, _ storeID: StoreID) throws -> HeldLock? {
        let end = ContinuousClock.now + .seconds(waitSeconds)
        var watch = StoppedHolder(of: .opening, at: store, for: .seconds(stoppedSeconds))
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
            if let holder = try watch.look() { throw EvstoreError.locked(path: store, holder: holder) }
            if ContinuousClock.now > end { return try StoreLock.opening.acquire(at: store, what: "opens it after a crash") }
            _ = Monitor(false).wait(milliseconds: 5) { $0 }
        }
    }
}
