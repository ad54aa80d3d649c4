internal import EventLog
package import EventModel

/// The lock that allows one migration of a store at a time; it ends with the process, however that ends.
package struct MigrationLock: Sendable {
    private let held: HeldLock
    private let alone: EventLog?

    /// - Throws: `EvstoreError.migrationInProgress`, naming the holder.
    package static func take(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        MigrationLock(held: try acquire(site), alone: nil)
    }

    /// The same where this process may only read the store: a shared lock keeps migrations away as well.
    package static func takeForReading(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        do { return try take(site) } catch {
            guard case .readOnly = error else { throw error }
            return MigrationLock(held: try acquire(site, shared: true), alone: nil)
        }
    }

    /// The same, and keeps every other process from having the store open.
    /// - Throws: `EvstoreError.locked` where one has.
    static func takeExclusively(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        let held = try acquire(site)
        try migrating { try site.log.takeAlone(what: site.task) }
        return MigrationLock(held: held, alone: site.log)
    }

    package func release() {
        do {
            try alone?.shareAgain()
            try held.release()
        } catch {
            preconditionFailure("a lock that is held can be released: \(error)")
        }
    }

    private static func acquire(_ site: MigrationSite, shared: Bool = false) throws(EvstoreError) -> HeldLock {
        do { return try StoreLock.migration.acquire(at: site.store, shared: shared, what: site.task) } catch {
            if case .locked(_, let holder) = evstoreError(error) { throw .migrationInProgress(holder: holder) }
            throw evstoreError(error)
        }
    }
}
