internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// Makes the commits of this process one after the other, on a thread of its own, or in place on the thread of the only caller. A second
/// thread watches the deadlines.
@safe
final class Committer: @unchecked Sendable {
    // Sound to share: `session` and `lent` are touched only by the thread that has the turn to commit (`CommitQueue`).
    private struct State {
        /// Set when the disk has failed during a commit: nothing is written any more.
        var poison: EvstoreError?
        /// Whether anything may have been written.
        var hasBegun = false
        /// The error of closing if another writer kept its turn until the deadline.
        var late: EvstoreError?
    }

    private var session: CommitSession?
    /// When a thread that commits in place last yielded to other tasks.
    private var lent = Instant.now
    private let context: LogContext
    private let signal: CommitSignal
    private let anchor: AnchorFile
    private let mark: FileMark
    private let observer: (@Sendable (CommitFigures) -> Void)?
    private let inPlaceLimit: Duration
    private let queue = CommitQueue()
    private let deadlineTimer: DeadlineTimer
    private let state = Monitor(State())

    init(_ context: LogContext, _ overlays: Overlays, _ signal: CommitSignal) throws {
        (self.context, self.signal) = (context, signal)
        (observer, inPlaceLimit) = (context.options.commitObserver, context.options.appendInPlaceLimit)
        anchor = try AnchorFile(at: context.path)
        mark = FileMark(try LogFile.status(at: context.path), isClosed: false)
        deadlineTimer = DeadlineTimer(queue, anchor, context)
        session = try CommitSession(context, overlays, mark)
    }

    private var path: String { context.path }
    private var options: Options { context.options }
    private var logger: Logger { context.logger }

    func start() throws {
        try deadlineTimer.start()
        do { _ = try WorkerThread.start("evstore-commit") { self.run() } } catch {
            // The writing thread would have done it: closing waits for both threads.
            deadlineTimer.end()
            throw error
        }
        try context.order?.follow(takeIn)
    }

    /// If the task is cancelled before its commit has begun, nothing is appended; after that, the outcome is returned.
    nonisolated(nonsending) func append(_ request: AppendRequest) async throws -> AppendOutcome {
        if let outcome = try await appendInPlace(request) { return outcome }
        return try await submitted { number, finish in .append(.init(number: number, request: request, finish: finish)) }
    }

    /// Suspends the task until its work is done, or withdrawn since the task was cancelled.
    private nonisolated(nonsending) func submitted<R: Sendable>(
        _ work: (_ number: UInt64, _ finish: @escaping @Sendable (Result<R, any Error>) -> Void) -> CommitQueue.Work
    ) async throws -> R {
        let number = queue.number()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in submit(work(number) { continuation.resume(with: $0) }) }
        } onCancel: {
            withdraw(number)
        }
    }

    /// How long a task may commit in place, which never suspends, before it yields its thread to others. Yielding costs something: the task
    /// often goes on on another thread, whose processor has none of its data cached.
    private static let inPlaceInterval = Duration.milliseconds(5)
    /// How long a task waits in place while another process commits: as long as a short commit takes.
    private static let turnPatience = Duration.milliseconds(1)

    /// Commits on this thread, which saves two thread switches: they take longer than the rest of a small commit. Nil where the writing
    /// thread has to commit, or another process keeps the writer's turn.
    private nonisolated(nonsending) func appendInPlace(_ request: AppendRequest) async throws -> AppendOutcome? {
        // Each commit of a node asks the cluster log, and no caller's thread may wait for that.
        guard context.order == nil, !Task.isCancelled, queue.beginInPlace(request) else { return nil }
        var isYielding = false
        let outcome = commit(.appends([.init(number: 0, request: request, finish: { _ in })])) { now in
            isYielding = lent.duration(to: now) >= Self.inPlaceInterval
            if isYielding { lent = now }
            let end = min(now + min(Self.turnPatience, inPlaceLimit), request.deadline)
            return try context.access.environment.takeTurn(within: nil, leasing: true) { Instant.now < end && !Task.isCancelled }
        }
        if isYielding { await Task.yield() }
        return try outcome?.get()
    }

    /// - Parameter body: nil for an update that takes in what a node's cluster log has.
    func update(within interval: Duration? = nil, _ body: (@Sendable (inout LogUpdate) throws -> Void)?) async throws {
        let deadline = Instant.within(interval ?? options.appendDeadline)
        try await submitted { number, finish in .update(.init(number: number, deadline: deadline, body: body, finish: finish)) }
    }

    /// Takes in what the cluster log has; blocks the calling thread.
    func takeIn(within interval: Duration) throws {
        let deadline = Instant.now + interval
        let outcome = Monitor<Result<Void, any Error>?>(nil)
        let finish: @Sendable (Result<Void, any Error>) -> Void = { result in outcome.change { $0 = result } }
        submit(.update(.init(number: queue.number(), deadline: deadline, body: nil, finish: finish)))
        try outcome.wait(until: { $0 != nil }, { try $0?.get() })
    }

    private func submit(_ work: CommitQueue.Work) {
        if let error = state.withLock({ $0.poison }) { return work.fail(error) }
        if !queue.add(work) { return work.fail(EvstoreError.misuse("the store has been closed")) }
        deadlineTimer.wake(isLeased: false)
        // The cancellation handler may have run before the work was in the queue.
        if Task.isCancelled { withdraw(work.number) }
    }

    private func withdraw(_ number: UInt64) {
        queue.withdraw(number)?.fail(EvstoreError.interrupted(again: "nothing was written: run it again"))
    }

    /// Refuses further work and does the waiting work, for as long as an append may wait for other writers. `body` runs when both threads
    /// have ended.
    func close(_ body: @escaping @Sendable () -> Void) {
        queue.close(.within(options.appendDeadline))
        deadlineTimer.atEnd(body)
    }

    /// Whether a commit has failed in such a way that it is unknown what the disk has of it.
    var hasFailed: Bool { state.withLock { $0.poison != nil } }

    /// The error of closing if another writer kept its turn until the deadline; else nil.
    var closingFailure: EvstoreError? { state.withLock { $0.late } }

    var hasWritten: Bool { state.withLock { $0.hasBegun } }

    private func run() {
        WorkerThread.useExactTimers()
        while true {
            switch queue.nextDuty() {
            case .commit:
                commit(nil) { _ in try context.access.environment.takeTurn(within: nil, leasing: true, while: { queue.isWaited }) }
                // Once the deadline of closing has passed, what still waits is refused.
                while queue.isGivenUp, let batch = queue.take(options) { batch.fail(EvstoreError.misuse("the store has been closed")) }
            case .endRound: endRound()
            case .end: return end()
            }
        }
    }

    /// Ends a round of commits, when appends pause: LMDB takes in what is ahead of it.
    private func endRound() {
        do { try session?.endRound(queue) } catch {
            _ = failure(error)
            logger.warning("moving commits of \(path) into LMDB", metadata: ["error": .stringConvertible(error.advised)])
        }
        queue.endCommit(isHolding: false)
    }

    private func end() {
        do { try anchor.sync() } catch { logger.warning("the anchor of \(path): \(error)") }
        do { try session?.finish(queue, afterFailure: hasFailed) } catch {
            let failure = failure(error)
            if case EvstoreError.deadlinePassed = failure { state.withLock { $0.late = failure as? EvstoreError } }
            logger.warning("closing \(path)", metadata: ["error": .stringConvertible(failure.advised)])
        }
        session = nil
        context.order?.finish()
        _ = context.access.environment.endLease(atOnce: true)
        deadlineTimer.end()
    }

    /// Makes one commit, by the thread whose turn it is, and gives the turn back.
    /// - Parameter given: the only work to commit; nil for the waiting work.
    /// - Parameter takeTurn: takes the writer's turn among processes, given the current time; without the turn nothing is done.
    /// - Returns: the outcome of its first append.
    @discardableResult
    private func commit(
        _ given: CommitQueue.Batch?, _ takeTurn: (Instant) throws -> WriteTurn?
    ) -> Result<AppendOutcome, any Error>? {
        // In any case: the anchor may be due, and a lease may be left.
        defer { deadlineTimer.wake(isLeased: context.access.environment.isLeased) }
        var began = Instant.now
        let committed: CommitSession.Committed
        do {
            try begin()
            began = .now
            committed = session?.commit(given, queue) { try takeTurn(began) } ?? .nothing
        } catch { committed = .failed(given, error) }
        switch committed {
        case .nothing:
            queue.endCommit(isHolding: isHolding, isSingle: given == nil ? nil : false)
            return nil
        case .made(let batch, let done):
            // Order: (1) durable (for a node in the cluster log), (2) anchor, (3) callers, (4) those who wait for events. Nothing may fail
            // below.
            // The commit stands even if the anchor fails: an old anchor proves less, and a torn one proves nothing.
            do { try anchor.note(done.end) } catch { logger.warning("the anchor of \(path): \(error)") }
            let took = began.duration(to: .now)
            // Whether the commit was quick and held one append; nil for one that was quick and has written nothing.
            let isSingle: Bool? = took >= inPlaceLimit ? false : done.hasAdded ? done.outcomes.count == 1 : nil
            queue.endCommit(isHolding: isHolding, isSingle: isSingle, answered: done.outcomes.count, took: took)
            switch batch {
            case .appends(let appends): for (append, outcome) in zip(appends, done.outcomes) { append.finish(outcome) }
            case .update(let update): update.finish(.success(()))
            }
            signal.announce(done.last)
            observe(done, batch, since: began, took)
            if let error = done.sweepFailure {
                logger.warning("sweeping the indexes of \(path)", metadata: ["error": .stringConvertible(failure(error).advised)])
            }
            precondition(given == nil || !done.outcomes.isEmpty, "an append that is committed alone is answered")
            return done.outcomes.first
        case .failed(let batch, let error):
            let failure = failure(error)
            let failed = batch ?? queue.take(options)
            queue.endCommit(isHolding: isHolding, isSingle: false)
            failed?.fail(failure)
            return .failure(failure)
        }
    }

    /// Makes the log's names durable and marks its file as in use, before the first commit of this handle.
    /// - Throws: the error that keeps this handle from committing.
    private func begin() throws {
        let (poison, hasBegun) = state.withLock { ($0.poison, $0.hasBegun) }
        if let poison { throw poison }
        if hasBegun { return }
        try StoreFiles.settleNames(path)
        try anchor.begin(mark)
        state.withLock { $0.hasBegun = true }
    }

    private var isHolding: Bool { session?.isHolding ?? false }

    /// Reports the commit to the observer, if the program has set one.
    private func observe(
        _ done: CommitSession.CommitResult, _ batch: CommitQueue.Batch, since began: Instant, _ took: Duration
    ) {
        guard let observer, case .appends(let appends) = batch else { return }
        var figures = CommitFigures(duration: took, sync: done.sync)
        for (append, outcome) in zip(appends, done.outcomes) {
            guard case .success(.appended(let receipt)) = outcome else { continue }
            figures.appends += 1
            figures.events += receipt.positions.count
            figures.longestWait = max(figures.longestWait, append.request.since.duration(to: began))
        }
        if figures.appends > 0 { observer(figures) }
    }

    /// The error for the callers of a failed commit (`commitError`). If the outcome is unknown, this handle writes no more.
    private func failure(_ error: any Error) -> any Error {
        let last = signal.last
        let failure = commitError(error, after: last, path, floorBytes: options.freeDiskFloorBytes)
        // A failure that was known before has been noted already.
        guard !(error is EvstoreError), case let failure as EvstoreError = failure, case .commitOutcomeUnknown = failure else {
            return failure
        }
        logger.error("the disk failed during a commit after position \(last)", metadata: ["error": .stringConvertible(error.advised)])
        if Guard.poison.isOn { state.withLock { $0.poison = $0.poison ?? failure } }
        // It is unknown what the disk has: the next process that opens the file checks all of it.
        do { try anchor.markDoubtful() } catch { logger.warning("the anchor of \(path): \(error)") }
        return failure
    }
}
