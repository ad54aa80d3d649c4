package import EventLog
package import EventModel
internal import Logging
package import Projections

/// The store that a migration works on, what it reports to, and what may stop it.
package struct MigrationSite: Sendable {
    package let evolving: EvolvingLog
    package var options: Options
    /// What is being done, such as `replay to v5`: the hint in its locks, and what an interruption says to do again.
    package let task: String
    package var progress: ProgressHandler?
    package var cancellation: Cancellation?
    let teller = LockTeller()

    package init(
        _ evolving: EvolvingLog, options: Options, task: String, progress: ProgressHandler? = nil, cancellation: Cancellation? = nil
    ) {
        (self.evolving, self.options, self.task) = (evolving, options, task)
        self.cancellation = cancellation
        let log = ProgressLog(evolving.logger)
        self.progress = { [teller] event in
            log.take(event)
            teller.take(event)
            progress?(event)
        }
    }

    package var log: EventLog { evolving.log }
    var logger: Logger { evolving.logger }
    package var store: String { evolving.log.path }

    package func say(_ step: String, done: UInt64 = 0, total: UInt64 = 0, quarantined: UInt64 = 0, _ note: String = "") {
        progress?(ProgressEvent(step: step, done: done, total: total, quarantined: quarantined, note: note))
    }

    var interrupted: EvstoreError { .interrupted(again: "\(task) again") }

    /// Order: between chunks, never between the parts of one durable step.
    package func checkCancellation() throws(EvstoreError) {
        if cancellation?.isCancelled == true { throw interrupted }
    }

    private static let askInterval = Duration.seconds(2)

    /// Takes in what other nodes of the cluster have done, and what this one had done when it was killed, before anything is planned. Where
    /// that fails, or takes long, it goes on without: what needs the cluster log asks again.
    func takeInFrames() async throws(EvstoreError) {
        if log.membership == nil { return }
        do { try await log.takeInFrames(within: Self.askInterval) } catch {
            let failure = evstoreError(error)
            if case .interrupted = failure { throw failure }
            logger.debug("taking in frames before a migration: \(failure.message)")
        }
        try checkCancellation()
    }

    /// Runs work that plans by the store's versions and changes something by that plan, under the lock of migrations; anew where another
    /// node of the cluster log has changed the versions between the two. Each time some node has come further, so that nodes which all
    /// migrate at one moment all come to an end.
    /// - Throws: `EvstoreError.migrationInProgress` where others have changed them for as long as an opening waits for a migration.
    func replanning<R>(_ work: () async throws(EvstoreError) -> R) async throws(EvstoreError) -> R {
        let end = ContinuousClock.Instant.within(options.migrationDeadline)
        while true {
            do { return try await work() } catch {
                guard case .migrationInProgress = error, ContinuousClock.now < end else { throw error }
                logger.info("another node has changed the versions meanwhile: planned again", metadata: ["task": "\(task)"])
            }
        }
    }

    package func state() throws(EvstoreError) -> StoreState {
        try migrating { try log.read { reader in try reader.state } }
    }

    package func last() throws(EvstoreError) -> Checkpoint {
        try migrating { try log.read { reader in reader.last } }
    }
}

/// Runs work of the lower rooms and gives their failures this room's error type.
package func migrating<R>(_ work: () throws -> R) throws(EvstoreError) -> R {
    do { return try work() } catch { throw evstoreError(error) }
}

/// The same for work on the writing thread.
package func migrating<R: Sendable>(_ work: () async throws -> R) async throws(EvstoreError) -> R {
    do { return try await work() } catch { throw evstoreError(error) }
}

func evstoreError(_ error: any Error) -> EvstoreError {
    EvstoreError(converting: error, at: "the store", doing: "migrating")
}
