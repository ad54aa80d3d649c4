internal import Bytes
internal import EventModel
internal import Platform

/// Wakes those who wait for events: after a commit of this process, after any process has written to the files, and at the latest with the
/// next slow poll.
final class CommitSignal: Sendable {
    fileprivate struct Waiter {
        let after: Position
        let deadline: Instant?
        let continuation: CheckedContinuation<Position, any Error>
    }

    fileprivate struct State {
        var waiters: [UInt64: Waiter] = [:]
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

    var last: Position { state.withLock { $0.last.position } }

    /// Announces the log's end. A new epoch wakes every waiter, since the end may have moved back.
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
    func wait(after position: Position, deadline: Instant?) async throws -> Position {
        let id = try state.withLock { state in
            // Order: the thread runs before anyone relies on it. Where it can't be started, the next one to wait tries again.
            if !state.isWatching { _ = try WorkerThread.start("evstore-signal") { self.run() } }
            state.isWatching = true
            state.nextID += 1
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                register(id, Waiter(after: position, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    private func register(_ id: UInt64, _ waiter: Waiter) {
        let refusal = state.change { state -> (any Error)? in
            // Order: under the lock. A cancellation that comes later finds the waiter.
            if Task.isCancelled { return CancellationError() }
            if state.isClosed { return EvstoreError.misuse("the store has been closed") }
            state.waiters[id] = waiter
            return nil
        }
        if let refusal { return waiter.continuation.resume(throwing: refusal) }
        // The watch reports no write that came between the caller's last read and now.
        watch.interrupt()
    }

    /// How often the log's end is looked at again after a write that showed nothing new, with pauses that double each time: the file is
    /// written before the commit can be seen, and nothing says when it can. Also done for a new waiter.
    private static let looksMax = 9

    private func run() {
        var looks = 0
        while awaitWaiters() {
            // Order: the watch starts before the log's end is read, so that every later write is noticed.
            watch.start()
            do {
                announce(try readLast())
            } catch {
                for waiter in state.withLock({ $0.take { _ in true } }) { waiter.continuation.resume(throwing: error) }
            }
            let now = Instant.now
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

    /// False once the log is closed. Most callers that have waited read and wait again; if none does for a while, the watch is stopped.
    private func awaitWaiters() -> Bool {
        if !state.wait(milliseconds: Self.leaveMilliseconds, until: { !$0.waiters.isEmpty || $0.isClosed }) { watch.stop() }
        return state.wait(until: { !$0.waiters.isEmpty || $0.isClosed }, { !$0.isClosed })
    }

    /// Wakes all waiters with an error and ends the thread.
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
    /// Removes and returns the waiters for which `fits` is true.
    fileprivate mutating func take(_ fits: (CommitSignal.Waiter) -> Bool) -> [CommitSignal.Waiter] {
        if waiters.isEmpty { return [] }
        let taken = waiters.filter { fits($0.value) }
        for id in taken.keys { waiters[id] = nil }
        return Array(taken.values)
    }
}
