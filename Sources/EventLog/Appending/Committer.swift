internal import EventModel
internal import LMDB
internal import Logging
internal import System

/// The one thread of this process that writes to the log, and a second one that keeps its deadlines.
final class Committer: Sendable {
    private let context: LogContext
    private let overlays: Overlays
    private let signal: CommitSignal
    private let anchor: AnchorFile
    private let mark: FileMark
    private let queue = CommitQueue()
    private let deadlineTimer: DeadlineTimer
    /// Set when the disk has failed during a commit: nothing is written any more.
    private let poison = Monitor<EvstoreError?>(nil)
    private let hasBegun = Monitor(false)
    private let late = Monitor<EvstoreError?>(nil)

    init(_ context: LogContext, _ overlays: Overlays, _ signal: CommitSignal) throws {
        (self.context, self.overlays, self.signal) = (context, overlays, signal)
        anchor = try AnchorFile(at: context.path)
        mark = FileMark(try LogFile.status(at: context.path), isClosed: false)
        deadlineTimer = DeadlineTimer(queue, anchor, context)
    }

    private var path: String { context.path }
    private var options: Options { context.options }
    private var logger: Logger { context.logger }

    func start() throws {
        _ = try WorkerThread.start("evstore-commit") { self.run() }
        try deadlineTimer.start()
    }

    /// A task that is cancelled while it waits for its turn appends nothing; once the commit has begun, its outcome is returned.
    func append(_ request: AppendRequest) async throws -> AppendOutcome {
        let number = queue.number()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { submit(.append(.init(number: number, request: request, continuation: $0))) }
        } onCancel: {
            withdraw(number)
        }
    }

    func update(_ body: @escaping @Sendable (inout LogUpdate) throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(options.appendDeadlineSeconds)
        let number = queue.number()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                submit(.update(.init(number: number, deadline: deadline, body: body, finish: { continuation.resume(with: $0) })))
            }
        } onCancel: {
            withdraw(number)
        }
    }

    private func submit(_ work: CommitQueue.Work) {
        if let error = poison.withLock({ $0 }) { return work.fail(error) }
        if !queue.add(work) { return work.fail(EvstoreError.misuse("the store has been closed")) }
        deadlineTimer.wake()
        // The cancellation handler may have run before the work was in the queue.
        if Task.isCancelled { withdraw(work.number) }
    }

    private func withdraw(_ number: UInt64) {
        queue.withdraw(number)?.fail(EvstoreError.interrupted(again: "nothing was written: run it again"))
    }

    /// Refuses further work and does what waits, for as long as an append may wait for other writers; `body` runs when both threads
    /// have ended.
    func close(_ body: @escaping @Sendable () -> Void) {
        queue.close(.now + .seconds(options.appendDeadlineSeconds))
        deadlineTimer.atEnd(body)
    }

    /// Whether a commit has failed so that nobody knows what the disk has of it.
    var hasFailed: Bool { poison.withLock { $0 != nil } }

    /// The error of closing where another writer kept its turn until the deadline; else nil.
    var closingFailure: EvstoreError? { late.withLock { $0 } }

    /// Whether anything may have been written.
    var hasWritten: Bool { hasBegun.withLock { $0 } }

    private func run() {
        do {
            var session = try CommitSession(context, overlays)
            while waitForWork(&session) { turn(&session) }
            // Order: the session's pin is released before the environment is closed.
            do {
                try session.finish(queue, afterFailure: poison.withLock { $0 } != nil)
                try anchor.sync()
            } catch {
                let failure = failure(error)
                if case EvstoreError.deadlinePassed = failure { late.withLock { $0 = failure as? EvstoreError } }
                logger.warning("closing \(path): \(failure)")
            }
        } catch { refuseAll(error) }
        deadlineTimer.end()
    }

    private static let restMilliseconds = 200

    /// Waits for work; false once the queue is closed and empty. A pause ends the round ahead of the log.
    private func waitForWork(_ session: inout CommitSession) -> Bool {
        if session.isHolding, !queue.waitForWork(milliseconds: Self.restMilliseconds) {
            do { try session.endRound(queue) } catch {
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
            guard let done = try session.run(queue, &batch) else { return refuseIfGivenUp() }
            // Order: durable, then the anchor, then the callers, then everyone who waits for events. From here on nothing fails.
            note(Anchor(epoch: done.last.epoch, storeID: context.access.storeID, last: done.last.position, link: done.link, mark: mark))
            deliver(done, batch)
            signal.announce(done.last)
        } catch {
            let failure = failure(error)
            if batch == nil { batch = queue.take(options) }
            batch?.fail(failure)
        }
    }

    /// Refuses the work that waits once the deadline of closing has passed.
    private func refuseIfGivenUp() {
        guard queue.isGivenUp else { return }
        while let batch = queue.take(options) { batch.fail(EvstoreError.misuse("the store has been closed")) }
    }

    /// The commit stands whatever becomes of the anchor: an old anchor proves less, and a torn one nothing.
    private func note(_ end: Anchor) {
        do { try anchor.note(end) } catch {
            logger.warning("the anchor of \(path): \(error)")
        }
    }

    private func beginOnce() throws {
        if hasBegun.withLock({ $0 }) { return }
        try StoreFiles.settleNames(path)
        try anchor.begin(mark)
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

    /// The error that the callers of a failed commit get (`commitError`); where the outcome is unknown, the handle writes no more.
    private func failure(_ error: any Error) -> any Error {
        let last = signal.last
        let failure = commitError(error, after: last, path, floorBytes: options.freeDiskFloorBytes)
        // One that was known before has been noted.
        guard !(error is EvstoreError), case let failure as EvstoreError = failure, case .commitOutcomeUnknown = failure else {
            return failure
        }
        logger.error("the disk failed during a commit after position \(last): \(error)")
        if Guard.poison.isOn { poison.withLock { $0 = $0 ?? failure } }
        // Nobody knows what the disk has: the next process that opens the file checks all of it.
        do { try anchor.markDoubtful() } catch { logger.warning("the anchor of \(path): \(error)") }
        return failure
    }
}
