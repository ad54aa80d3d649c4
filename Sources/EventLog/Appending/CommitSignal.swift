internal import Bytes
internal import EventModel
internal import Platform

/// Wakes those who wait for events: after a commit of this process, after any process has written to the
/// file, and at the latest at the next slow poll.
final class CommitSignal: Sendable {
    fileprivate struct Waiter {
        let after: Position
        let deadline: ContinuousClock.Instant?
        let continuation: CheckedContinuation<Position, any Error>
    }

    fileprivate struct State {
        var waiters: [UInt64: Waiter] = [:]
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 0
        var last: Checkpoint
        var isWatching = false
        var isClosed = false
    }

    private let state: Monitor<State>
    private let watch: FileWatch
    private let pollMilliseconds: Int
    private let readLast: @Sendable () throws -> Checkpoint

    init(watching files: [String], _ options: Options, _ readLast: @escaping @Sendable () throws -> Checkpoint) throws {
        watch = try FileWatch(files)
        pollMilliseconds = options.pollInterval.inMilliseconds
        self.readLast = readLast
        state = Monitor(State(last: try readLast()))
    }

    /// The end of the log that was seen last.
    var last: Position { state.withLock { $0.last.position } }

    /// Announces the log's end. A new epoch wakes every waiter, since positions may have gone down.
    func announce(_ last: Checkpoint) {
        let (woken, end) = state.withLock { state in
            let isNewEpoch = last.epoch > state.last.epoch
            let isNews = isNewEpoch || last.epoch == state.last.epoch && last.position > state.last.position
            if isNews { state.last = last }
            let end = state.last.position
            return (state.take { isNewEpoch || $0.after < end }, end)
        }
        for waiter in woken { waiter.continuation.resume(returning: end) }
    }

    /// Returns when the log reaches beyond `position`, a cut is made, or the deadline passes.
    func wait(after position: Position, deadline: ContinuousClock.Instant?) async throws -> Position {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try startWatching()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                register(id, Waiter(after: position, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func register(_ id: UInt64, _ waiter: Waiter) {
        let refusal = state.change { state -> (any Error)? in
            if state.cancelled.remove(id) != nil { return CancellationError() }
            if state.isClosed { return EvstoreError.misuse("the store has been closed") }
            state.waiters[id] = waiter
            return nil
        }
        if let refusal { return waiter.continuation.resume(throwing: refusal) }
        // No event will come for what was written between the caller's last read and now.
        watch.interrupt()
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            if waiter == nil && id <= state.nextID { state.cancelled.insert(id) }
            return waiter
        }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    private func startWatching() throws {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if isFirst { _ = try WorkerThread.start("evstore-signal") { self.run() } }
    }

    /// After a write that showed nothing yet, the log's end is looked at again: it is written before it is shown, and
    /// nothing tells when it is. So often, each time after twice as many milliseconds; also for who has just begun to wait.
    private static let looksMax = 9

    private func run() {
        var looks = 0
        while awaitWaiters() {
            // Order: what is written behind the look at the log's end is seen.
            watch.start()
            do {
                announce(try readLast())
            } catch {
                for waiter in state.withLock({ $0.take { _ in true } }) { waiter.continuation.resume(throwing: error) }
            }
            let now = ContinuousClock.now
            let (late, next, last) = state.withLock { state in
                let late = state.take { waiter in waiter.deadline.map { $0 <= now } ?? false }
                return (late, state.waiters.values.compactMap(\.deadline).min(), state.last.position)
            }
            for waiter in late { waiter.continuation.resume(returning: last) }
            let untilNext = next.map { nearest(now.duration(to: $0) / .milliseconds(1)).plus(1) } ?? pollMilliseconds
            guard state.withLock({ !$0.waiters.isEmpty }) else { continue }
            let untilLook = looks > 0 ? 1 << (Self.looksMax - looks) : pollMilliseconds
            let hasChanged = watch.wait(milliseconds: min(pollMilliseconds, untilNext, untilLook))
            looks = hasChanged ? Self.looksMax : max(looks - 1, 0)
        }
    }

    private static let leaveMilliseconds = 1_000

    /// False once the log is closed. Whoever has waited reads and mostly comes back; after that nothing is watched any more.
    private func awaitWaiters() -> Bool {
        if !state.wait(milliseconds: Self.leaveMilliseconds, until: { !$0.waiters.isEmpty || $0.isClosed }) { watch.stop() }
        return state.wait(until: { !$0.waiters.isEmpty || $0.isClosed }, { !$0.isClosed })
    }

    /// Wakes everyone with an error and ends the thread.
    func close() {
        let left = state.change { state in
            state.isClosed = true
            return state.take { _ in true }
        }
        for waiter in left { waiter.continuation.resume(throwing: EvstoreError.misuse("the store has been closed")) }
        watch.interrupt()
    }
}

extension CommitSignal.State {
    /// Removes and returns the waiters that fit.
    fileprivate mutating func take(_ fits: (CommitSignal.Waiter) -> Bool) -> [CommitSignal.Waiter] {
        if waiters.isEmpty { return [] }
        let taken = waiters.filter { fits($0.value) }
        for id in taken.keys { waiters[id] = nil }
        return Array(taken.values)
    }
}
