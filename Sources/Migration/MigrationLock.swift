internal import EventLog
package import EventModel
internal import Logging
internal import Platform
internal import Projections

/// The lock that allows one migration of a store at a time; it is released when the process ends, for whatever reason.
package struct MigrationLock: Sendable {
    private let held: HeldLock
    private let log: EventLog
    /// Whether every other process is kept from opening the store.
    private let isAlone: Bool
    private let lockProgress: LockProgress

    private init(_ held: HeldLock, isAlone: Bool = false, _ context: MigrationContext) {
        (self.held, log, self.isAlone, lockProgress) = (held, context.log, isAlone, context.lockProgress)
        lockProgress.begin(held, context.job.name)
    }

    /// - Throws: `EvstoreError.migrationInProgress`, naming the holder.
    package static func take(_ context: MigrationContext) throws(EvstoreError) -> MigrationLock {
        MigrationLock(try acquire(context), context)
    }

    /// Takes the lock where this process may only read the store: a shared lock keeps migrations away as well.
    package static func takeForReading(_ context: MigrationContext) throws(EvstoreError) -> MigrationLock {
        do { return try take(context) } catch {
            guard case .readOnly = error else { throw error }
            return MigrationLock(try acquire(context, shared: true), context)
        }
    }

    /// Takes the lock and keeps every other process from opening the store.
    /// - Throws: `EvstoreError.locked` where another process has it open.
    static func takeExclusively(_ context: MigrationContext) throws(EvstoreError) -> MigrationLock {
        let held = try acquire(context)
        try converting { try context.log.acquireExclusively(what: context.job.name) }
        return MigrationLock(held, isAlone: true, context)
    }

    package func release() {
        lockProgress.end()
        if isAlone { log.shareAgain() }
        // A lock that can't be released ends with its file, at the latest with the process.
        do { try held.release() } catch { log.warn("releasing the migration lock of \(log.path)", error) }
    }

    private static func acquire(_ context: MigrationContext, shared: Bool = false) throws(EvstoreError) -> HeldLock {
        do { return try StoreLock.migration.acquire(at: context.store, shared: shared, what: context.job.name) } catch {
            if case .locked(_, let holder) = EvstoreError(converting: error) { throw .migrationInProgress(holder: holder) }
            throw EvstoreError(converting: error)
        }
    }
}

/// Publishes the progress of the work to processes that find the lock held, at most twice a second.
final class LockProgress: Sendable {
    private static let pause = Duration.milliseconds(500)
    private let state = Monitor<(lock: (held: HeldLock, what: String)?, told: Instant?)>((nil, nil))

    func begin(_ held: HeldLock, _ what: String) { state.withLock { $0 = ((held, what), nil) } }

    func end() { state.withLock { $0 = (nil, nil) } }

    func take(_ event: ProgressEvent) {
        if event.total == 0 { return }
        state.withLock { state in
            let now = Instant.now
            guard let lock = state.lock, state.told.map({ $0.duration(to: now) >= Self.pause }) ?? true else { return }
            state.told = now
            lock.held.tell(event, of: lock.what)
        }
    }
}

/// Writes the progress of long work to the service's log: the beginning of each step, and every few seconds how much of it is done.
final class ProgressLog: Sendable {
    private let logger: Logger
    private let every: Duration
    private let state = Monitor((step: "", said: Instant.now))

    init(_ logger: Logger, every: Duration = .seconds(5)) { (self.logger, self.every) = (logger, every) }

    func take(_ event: ProgressEvent) {
        guard logger.logLevel <= .debug else { return }
        let now = Instant.now
        let isNew: Bool? = state.withLock { state in
            let isNew = state.step != event.step
            guard isNew || state.said.duration(to: now) >= every else { return nil }
            (state.step, state.said) = (event.step, now)
            return isNew
        }
        guard let isNew else { return }
        var metadata: Logger.Metadata = ["step": "\(event.step)", "done": "\(event.done)"]
        if event.total > 0 { metadata["total"] = "\(event.total)" }
        if event.quarantined > 0 { metadata["quarantined"] = "\(event.quarantined)" }
        if !event.note.isEmpty { metadata["note"] = "\(event.note)" }
        logger.debug(isNew ? "a step begins" : "still at it", metadata: metadata)
    }
}
