internal import EventLog
internal import EventModel

/// One migration of a store at a time; it goes with the process, however that ends.
struct MigrationLock: Sendable {
    private let held: HeldLock
    private let alone: EventLog?

    /// - Throws: `EvstoreError.migrationInProgress`, naming the holder.
    static func take(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        MigrationLock(held: try acquire(site), alone: nil)
    }

    /// The same; nil where the store's files can't be written.
    static func takeIfWritable(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock? {
        do { return try take(site) } catch {
            if case .readOnly = error { return nil }
            throw error
        }
    }

    /// The same, with no other process having the store open.
    /// - Throws: `EvstoreError.locked` where one has.
    static func takeExclusively(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        let held = try acquire(site)
        try migrating { try site.log.takeAlone(what: site.again) }
        return MigrationLock(held: held, alone: site.log)
    }

    func release() {
        do {
            try alone?.shareAgain()
            try held.release()
        } catch {
            preconditionFailure("a lock that is held can be released: \(error)")
        }
    }

    private static func acquire(_ site: MigrationSite) throws(EvstoreError) -> HeldLock {
        do { return try StoreLock.migration.acquire(at: site.store, what: site.again) } catch {
            if case .locked(_, let holder) = evstoreError(error) { throw .migrationInProgress(holder: holder) }
            throw evstoreError(error)
        }
    }
}
