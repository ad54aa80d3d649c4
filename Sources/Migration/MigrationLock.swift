internal import EventLog
package import EventModel
internal import Platform
internal import Projections

/// The lock that allows one migration of a store at a time; it ends with the process, however that ends.
package struct MigrationLock: Sendable {
    private let held: HeldLock
    private let alone: EventLog?
    private let teller: LockTeller

    private init(_ held: HeldLock, alone: EventLog? = nil, _ site: MigrationSite) {
        (self.held, self.alone, teller) = (held, alone, site.teller)
        teller.begin(held, site.job.name)
    }

    /// - Throws: `EvstoreError.migrationInProgress`, naming the holder.
    package static func take(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        MigrationLock(try acquire(site), site)
    }

    /// The same where this process may only read the store: a shared lock keeps migrations away as well.
    package static func takeForReading(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        do { return try take(site) } catch {
            guard case .readOnly = error else { throw error }
            return MigrationLock(try acquire(site, shared: true), site)
        }
    }

    /// The same, and keeps every other process from having the store open.
    /// - Throws: `EvstoreError.locked` where one has.
    static func takeExclusively(_ site: MigrationSite) throws(EvstoreError) -> MigrationLock {
        let held = try acquire(site)
        try converting { try site.log.acquireExclusively(what: site.job.name) }
        return MigrationLock(held, alone: site.log, site)
    }

    package func release() {
        teller.end()
        do {
            try alone?.shareAgain()
            try held.release()
        } catch {
            preconditionFailure("a lock that is held can be released: \(error)")
        }
    }

    private static func acquire(_ site: MigrationSite, shared: Bool = false) throws(EvstoreError) -> HeldLock {
        do { return try StoreLock.migration.acquire(at: site.store, shared: shared, what: site.job.name) } catch {
            if case .locked(_, let holder) = EvstoreError(converting: error) { throw .migrationInProgress(holder: holder) }
            throw EvstoreError(converting: error)
        }
    }
}

/// Tells those who find the lock held how far the work is, twice a second at most.
final class LockTeller: Sendable {
    private struct State {
        var lock: (held: HeldLock, what: String)?
        var told: ContinuousClock.Instant?
    }

    private static let pause = Duration.milliseconds(500)
    private let state = Monitor(State())

    func begin(_ held: HeldLock, _ what: String) { state.withLock { $0 = State(lock: (held, what)) } }

    func end() { state.withLock { $0 = State() } }

    func take(_ event: ProgressEvent) {
        if event.total == 0 { return }
        state.withLock { state in
            let now = ContinuousClock.now
            guard let lock = state.lock, state.told.map({ $0.duration(to: now) >= Self.pause }) ?? true else { return }
            state.told = now
            lock.held.tell(event, of: lock.what)
        }
    }
}
