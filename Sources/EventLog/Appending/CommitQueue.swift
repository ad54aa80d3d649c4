internal import EventModel
internal import System

/// Appends and updates that wait for the writing thread, first come, first served. Each has a deadline.
final class CommitQueue: Sendable {
    struct Append: Sendable {
        let number: UInt64
        let request: AppendRequest
        let continuation: CheckedContinuation<AppendOutcome, any Error>
    }

    struct Update: Sendable {
        let number: UInt64
        let since = ContinuousClock.now
        let deadline: ContinuousClock.Instant
        let body: @Sendable (inout LogUpdate) throws -> Void
        let finish: @Sendable (Result<Void, any Error>) -> Void
    }

    enum Work: Sendable {
        case append(Append)
        case update(Update)

        var deadline: ContinuousClock.Instant {
            switch self {
            case .append(let append): append.request.deadline
            case .update(let update): update.deadline
            }
        }

        var number: UInt64 {
            switch self {
            case .append(let append): append.number
            case .update(let update): update.number
            }
        }

        /// Seconds since its caller began to wait.
        var waited: Double {
            let since =
                switch self {
                case .append(let append): append.request.since
                case .update(let update): update.since
                }
            return since.duration(to: .now) / .seconds(1)
        }

        func fail(_ error: any Error) {
            switch self {
            case .append(let append): append.continuation.resume(throwing: error)
            case .update(let update): update.finish(.failure(error))
            }
        }
    }

    /// The work of one transaction.
    enum Batch: Sendable {
        case appends([Append])
        case update(Update)

        func fail(_ error: any Error) {
            switch self {
            case .appends(let appends): for append in appends { append.continuation.resume(throwing: error) }
            case .update(let update): update.finish(.failure(error))
            }
        }
    }

    fileprivate struct State {
        var waiting: [Work] = []
        /// How many at the front have been handed to the writing thread already.
        var taken = 0
        var isClosed = false
        /// Once it is closed: until when the work that waits is still done.
        var end: ContinuousClock.Instant?
        var numbers: UInt64 = 0

        var count: Int { waiting.count - taken }
    }

    private let state = Monitor(State())

    /// Tells one work from all others.
    func number() -> UInt64 {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    /// False where the queue is closed.
    func add(_ work: Work) -> Bool {
        state.change { state in
            if state.isClosed { return false }
            state.waiting.append(work)
            return true
        }
    }

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// Refuses further work; what waits is still done, until a deadline.
    func close(_ end: ContinuousClock.Instant) { state.change { ($0.isClosed, $0.end) = (true, end) } }

    /// Whether it is closed and the deadline has passed.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Whether work waits, and its deadline has not passed.
    var isWaited: Bool { state.withLock { $0.count > 0 && !$0.isGivenUp } }

    /// Waits until there is work or the queue is closed, at most so long; false where neither came.
    func waitForWork(milliseconds: Int) -> Bool { state.wait(milliseconds: milliseconds) { $0.count > 0 || $0.isClosed } }

    /// Waits for something to do; false when the queue is closed and empty.
    func waitForWork() -> Bool {
        state.wait(until: { $0.count > 0 || $0.isClosed }, { $0.count > 0 })
    }

    /// Takes as many appends as one commit may hold, at least one, or one update; nil where nothing waits.
    func take(_ options: Options) -> Batch? {
        state.withLock { state in
            var appends: [Append] = []
            if state.take(&appends, options) { return .appends(appends) }
            guard state.taken < state.waiting.count, case .update(let update) = state.waiting[state.taken] else { return nil }
            state.taken += 1
            state.forgetTaken()
            return .update(update)
        }
    }

    /// Adds appends that have come since, as many as the commit may still hold; false where there are none.
    func takeMore(_ appends: inout [Append], _ options: Options) -> Bool { state.withLock { $0.take(&appends, options) } }

    /// Removes the work whose deadline has passed.
    func takeOverdue() -> [Work] {
        let now = ContinuousClock.now
        return state.withLock { state in state.takeOut { $0.deadline <= now } }
    }

    /// Removes work whose caller was cancelled; nil where the writing thread has it already.
    func withdraw(_ number: UInt64) -> Work? { state.withLock { state in state.takeOut { $0.number == number }.first } }
}

extension CommitQueue.State {
    /// Takes appends from the front, as many as fit into one commit with those in `appends`; false where none did.
    fileprivate mutating func take(_ appends: inout [CommitQueue.Append], _ options: Options) -> Bool {
        var (events, bytes) = (0, 0)
        for append in appends { (events, bytes) = (events + append.request.events.count, bytes + append.request.payloadBytes) }
        let before = appends.count
        while taken < waiting.count, case .append(let append) = waiting[taken] {
            events += append.request.events.count
            bytes += append.request.payloadBytes
            let isFull = events > options.commitEventsMax || bytes > options.commitBytesMax
            if !appends.isEmpty && (isFull || appends.count == options.queueRequestsMax) { break }
            appends.append(append)
            taken += 1
        }
        forgetTaken()
        return appends.count > before
    }

    var isGivenUp: Bool { isClosed && end.map { $0 <= .now } ?? false }

    fileprivate mutating func takeOut(_ isMeant: (CommitQueue.Work) -> Bool) -> [CommitQueue.Work] {
        let out = waiting[taken...].filter(isMeant)
        if out.isEmpty { return [] }
        waiting = waiting[taken...].filter { !isMeant($0) }
        taken = 0
        return out
    }

    fileprivate mutating func forgetTaken() {
        if taken == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.count <= 4_096)
            taken = 0
        } else if taken > 4_096 {
            waiting.removeFirst(taken)
            taken = 0
        }
    }
}
