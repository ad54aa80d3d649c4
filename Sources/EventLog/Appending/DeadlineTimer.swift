internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// A thread that refuses work whose deadline has passed, writes the anchor, and ends the lease when turns pause; it is active while there
/// is something to do.
final class DeadlineTimer: Sendable {
    private struct State {
        var isActive = false
        /// Whether turns are leased: then it looks more often.
        var isLeased = false
        var isEnding = false
        var hasEnded = false
        var atEnd: [@Sendable () -> Void] = []
    }

    private static let (tickMilliseconds, leaseMilliseconds) = (50, 1)
    private let queue: CommitQueue
    private let anchor: AnchorFile
    private let context: LogContext
    private let state = Monitor(State())

    init(_ queue: CommitQueue, _ anchor: AnchorFile, _ context: LogContext) {
        (self.queue, self.anchor, self.context) = (queue, anchor, context)
    }

    private var environment: Environment { context.access.environment }

    func start() throws {
        do { _ = try WorkerThread.start("evstore-deadln") { self.run() } } catch {
            state.withLock { $0.hasEnded = true }
            throw error
        }
    }

    /// - Parameter isLeased: whether a lease of turns may be left.
    func wake(isLeased: Bool) {
        if state.withLock({ $0.isActive && ($0.isLeased || !isLeased) }) { return }
        state.change { ($0.isActive, $0.isLeased) = (true, $0.isLeased || isLeased) }
    }

    func end() { state.change { $0.isEnding = true } }

    /// Runs `body` when both threads have ended, at once if they have.
    func atEnd(_ body: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.atEnd.append(body) }
            return state.hasEnded
        }
        if hasEnded { body() }
    }

    private func run() {
        var looked = Instant.now
        while state.wait(until: { $0.isActive || $0.isEnding }, { !$0.isEnding }) {
            let wasLeased = state.withLock { $0.isLeased }
            let tick = wasLeased ? Self.leaseMilliseconds : Self.tickMilliseconds
            if state.wait(milliseconds: tick, until: { $0.isEnding || $0.isLeased != wasLeased }), state.withLock({ $0.isEnding }) { break }
            if wasLeased { endLease() }
            if looked.duration(to: .now) < .milliseconds(Self.tickMilliseconds) { continue }
            looked = .now
            do {
                for work in queue.takeOverdue() { work.fail(overdue(work)) }
                if anchor.isDue(.seconds(1)) { try environment.withoutLeases { try anchor.sync() } }
            } catch { context.logger.warning("keeping \(context.path)", metadata: ["error": .stringConvertible(error.advised)]) }
            state.withLock { $0.isActive = $0.isActive && !(queue.isEmpty && !anchor.isDirty && !$0.isLeased) }
        }
        let bodies = state.withLock { state in
            state.hasEnded = true
            return state.atEnd
        }
        for body in bodies { body() }
    }

    private func endLease() {
        // Order: cleared first, since a lease that begins meanwhile sets it again.
        state.withLock { $0.isLeased = false }
        if environment.endLease(atOnce: false) { state.withLock { $0.isLeased = true } }
    }

    private func overdue(_ work: CommitQueue.Work) -> EvstoreError {
        if let error = context.order?.trouble { return error }
        return .deadlinePassed(waited: work.waited, holder: environment.writer ?? anchor.writer ?? Environment.nobody)
    }
}
