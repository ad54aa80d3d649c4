package import EventLog
package import EventModel
internal import Logging
internal import Platform
package import Projections

/// The store that a migration works on, with its job, whose name the locks are held under.
package struct MigrationContext: Sendable {
    package let evolving: VersionedLog
    package var options: Options
    package var job: Job
    let lockProgress = LockProgress()

    package init(_ evolving: VersionedLog, options: Options, _ job: Job) {
        (self.evolving, self.options) = (evolving, options)
        let log = ProgressLog(evolving.logger)
        self.job = job.reporting { [lockProgress] event in
            log.take(event)
            lockProgress.take(event)
        }
    }

    package var log: EventLog { evolving.log }
    var logger: Logger { evolving.logger }

    /// Logs what an operator has to know although the work goes on.
    package func warn(_ text: String, _ error: (any Error)? = nil) {
        logger.warning("\(text)", metadata: error.map { ["error": .stringConvertible($0.advised)] })
    }
    package var store: String { evolving.log.path }

    private static let askInterval = Duration.seconds(2)

    /// Takes in what other nodes of the cluster have done, and what this node did before it was killed, before anything is planned. Where
    /// that fails or takes long, the migration continues: work that needs the cluster log asks again.
    func takeInFrames() async throws(EvstoreError) {
        if log.membership == nil { return }
        do { try await log.takeInFrames(within: Self.askInterval) } catch {
            let failure = EvstoreError(converting: error)
            if case .interrupted = failure { throw failure }
            logger.debug("frames could not be taken in before a migration", metadata: ["error": .stringConvertible(failure.advised)])
        }
        try job.check()
    }

    /// Runs work that plans by the store's versions and then changes something by that plan, under the lock of migrations. Where another
    /// node of the cluster log has changed the versions in between, runs it again. Some node makes progress each time, so that nodes that
    /// migrate at the same time all finish.
    ///
    /// Order: the work plans under the lock, so that no other migration changes the state meanwhile.
    /// - Throws: `EvstoreError.migrationInProgress` where others keep changing the versions for `Options.migrationDeadline`.
    func locked<R>(
        takingInFrames: Bool = true, _ work: () async throws(EvstoreError) -> R
    ) async throws(EvstoreError) -> R {
        let lock = try MigrationLock.take(self)
        defer { lock.release() }
        if takingInFrames { try await takeInFrames() }
        let end = Instant.within(options.migrationDeadline)
        while true {
            do { return try await work() } catch {
                guard case .migrationInProgress = error, Instant.now < end else { throw error }
                logger.info("another node has changed the versions meanwhile: planned again", metadata: ["task": "\(job.name)"])
            }
        }
    }

    package func state() throws(EvstoreError) -> StoreState {
        try log.reading { reader in try reader.state }
    }

    /// The event types in the log, each at each birth version.
    func census() throws(EvstoreError) -> [CensusRow] {
        try log.reading { reader in try reader.census() }.filter { $0.count > 0 }
    }

    package func last() throws(EvstoreError) -> Checkpoint {
        try log.reading { reader in reader.last }
    }
}

extension StoreState {
    /// Checks `floor <= live <= top <= head` before the numbers are written.
    func checkNumbers() throws(EvstoreError) {
        guard numbers.isInOrder else {
            throw .misuse("floor \(floor), live \(live), top \(top) and head \(head) are out of order; nothing was changed")
        }
    }
}

extension LogUpdate {
    /// Requires that the store is still in the state in which a migration was planned. The lock of migrations keeps other processes from
    /// changing that state, but not the other nodes of a cluster log.
    /// - Throws: `EvstoreError.migrationInProgress`; see `MigrationContext.locked`.
    borrowing func requireStamp(of planned: StoreState) throws(EvstoreError) {
        guard state.stamp == planned.stamp, state.epoch == planned.epoch else {
            throw .migrationInProgress(
                holder: "another node has changed the versions of the cluster log meanwhile; nothing was changed here")
        }
    }
}
