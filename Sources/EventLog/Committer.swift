internal import EventModel
internal import LMDB
internal import Logging

/// The one thread of this process that writes to the log, and a second one that keeps its deadlines.
final class Committer: Sendable {
    private let path: String
    private let access: LogAccess
    private let overlays: Overlays
    private let options: Options
    private let logger: Logger
    private let signal: CommitSignal
    private let anchor: AnchorFile
    private let mark: FileMark
    private let lockFile: File
    private let queue = CommitQueue()
    private let keeper: Keeper
    /// Set when the disk has failed during a commit: nothing is written any more.
    private let poison = Monitor<EvstoreError?>(nil)
    private let hasBegun = Monitor(false)

    init(
        path: String, _ access: LogAccess, _ overlays: Overlays, _ options: Options, _ signal: CommitSignal, _ logger: Logger
    ) throws {
        (self.path, self.access, self.overlays, self.options) = (path, access, overlays, options)
        (self.signal, self.logger) = (signal, logger)
        anchor = try AnchorFile(at: path)
        mark = FileMark(try LogFile.status(at: path), isClosed: false)
        lockFile = try File(path + StoreLock.fileName, .write)
        keeper = Keeper(queue, anchor, lockFile, path, logger)
    }

    func start() throws {
        _ = try WorkerThread.start("evstore-commit") { self.run() }
        try keeper.start()
    }

    func append(_ request: AppendRequest) async throws -> AppendOutcome {
        try await withCheckedThrowingContinuation { submit(.append(.init(request: request, continuation: $0))) }
    }

    func update(_ body: @escaping @Sendable (inout LogUpdate) throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(options.appendDeadlineSeconds)
        try await withCheckedThrowingContinuation { continuation in
            submit(.update(.init(deadline: deadline, body: body, finish: { continuation.resume(with: $0) })))
        }
    }

    private func submit(_ work: CommitQueue.Work) {
        if let error = poison.withLock({ $0 }) { return work.fail(error) }
        if !queue.add(work) { return work.fail(EvstoreError.misuse("the store has been closed")) }
        keeper.wake()
    }

    /// Does what waits and takes nothing more; `body` runs when both threads have ended.
    func close(_ body: @escaping @Sendable () -> Void) {
        queue.close()
        keeper.atEnd(body)
    }

    /// Whether it is open what the disk has of the last commits.
    var hasFailed: Bool { poison.withLock { $0 != nil } }

    /// Whether anything may have been written.
    var hasWritten: Bool { hasBegun.withLock { $0 } }

    private func run() {
        do {
            var session = try CommitSession(access, overlays, options, path: path, lockFile: lockFile)
            while waitForWork(&session) { turn(&session) }
            // Order: what the session keeps of LMDB goes before the environment is closed.
            do {
                try session.finish(afterFailure: poison.withLock { $0 } != nil)
                try anchor.sync()
            } catch {
                _ = failure(error)
                logger.warning("closing \(path): \(error)")
            }
        } catch { refuseAll(error) }
        keeper.end()
    }

    private static let restMilliseconds = 200

    /// Waits for something to do; false at the end. A pause ends the round ahead of the log.
    private func waitForWork(_ session: inout CommitSession) -> Bool {
        if session.isHolding, !queue.waitForWork(milliseconds: Self.restMilliseconds) {
            do { try session.rest() } catch {
                _ = failure(error)
                logger.warning("resting \(path): \(error)")
            }
        }
        return queue.waitForWork()
    }

    private func refuseAll(_ error: any Error) {
        while queue.waitForWork() { queue.take(options)?.fail(error) }
    }

    private func turn(_ session: inout CommitSession) {
        var batch: CommitQueue.Batch?
        do {
            if let error = poison.withLock({ $0 }) { throw error }
            try beginOnce()
            guard let done = try session.run(queue, &batch) else { return }
            // Order: durable, then the anchor, then the callers, then everyone who waits for events.
            try note(Anchor(epoch: done.last.epoch, storeID: access.storeID, last: done.last.position, link: done.link, mark: mark))
            deliver(done, batch)
            signal.announce(done.last)
        } catch {
            let failure = failure(error)
            if batch == nil { batch = queue.take(options) }
            batch?.fail(failure)
        }
    }

    /// What was committed stays so where a full disk has no room for the anchor: one that is old says less, and one that is torn
    /// nothing.
    private func note(_ end: Anchor) throws {
        do { try anchor.write(end) } catch let error as LMDBError where error.isDiskFull {
            logger.warning("the anchor of \(path): \(error)")
        }
    }

    private func beginOnce() throws {
        if hasBegun.withLock({ $0 }) { return }
        try anchor.begin(mark, at: path)
        hasBegun.withLock { $0 = true }
    }

    private func deliver(_ done: CommitSession.Done, _ batch: CommitQueue.Batch?) {
        switch batch {
        case .appends(let appends):
            for (append, outcome) in zip(appends, done.outcomes) { append.continuation.resume(with: outcome) }
        case .update(let update): update.finish(.success(()))
        case nil: break
        }
    }

    /// A disk that fails during a commit leaves it open whether it was made: the handle writes no more.
    /// A short write is reported as the same failure; a full disk tells the two apart.
    private func failure(_ error: any Error) -> any Error {
        guard let system = error as? LMDBError ?? (error as? UndoneCommit)?.cause else { return error }
        guard system.isFailedDisk || error is UndoneCommit else { return storeError(system, path, doing: "appending") }
        let free = freeBytes(path)
        if system.name == "EIO" && !(error is UndoneCommit) && free < UInt64(options.freeDiskFloorBytes) {
            return EvstoreError.diskFull(path: path, freeBytes: free)
        }
        let last = signal.last
        logger.error("the disk failed during a commit after position \(last): \(system)")
        let failure = EvstoreError.commitOutcomeUnknown(after: last)
        if Guard.poison.isOn { poison.withLock { $0 = $0 ?? failure } }
        // What the disk has is not known: whoever opens the file next looks at all of it.
        do { try anchor.disown(at: path) } catch { logger.warning("the anchor of \(path): \(error)") }
        return failure
    }
}
