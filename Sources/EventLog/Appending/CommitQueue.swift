internal import Bytes
internal import EventModel
internal import Glibc
internal import Platform

/// Appends and updates that wait to be committed, first come, first served, and whose turn it is to commit: one thread at a time. Each
/// waits until its deadline.
final class CommitQueue: Sendable {
    fileprivate struct State {
        var waiting: [Work] = []
        /// How many at the front have been taken already.
        var taken = 0
        var isClosed = false
        /// Once it is closed: until when the work that waits is still done.
        var end: ContinuousClock.Instant?
        var numbers: UInt64 = 0
        /// Whether a thread commits. Only that one touches the session.
        var isCommitting = false
        /// What the last commit of appends tells of the next.
        var pace = Pace.unknown
        /// When LMDB takes what is ahead of it, unless a commit comes before.
        var rest: ContinuousClock.Instant?
        var gathering = Gathering()

        var count: Int { waiting.count - taken }
    }

    /// Whom a commit waits for: callers who have just had their answers and append again at once share a sync with those who wait already.
    fileprivate struct Gathering {
        /// How many came together with the last commit: it has answered them, or they waited at its end.
        var expected = 0
        var patienceMicroseconds = 0
        /// While the writing thread waits: how many wake it; else 0.
        var wanted = 0
        /// How many commits begin without waiting, since those who were expected did not come; and how many after the next time.
        var hurried = 0
        var penalty = 0
        static let patience = 20 ... 1_000
        static let penalties = 4 ... 256

        mutating func expect(_ count: Int, afterCommitOf duration: Duration) {
            expected = count
            let half = nearest(duration / .microseconds(2))
            patienceMicroseconds = min(max(half, Self.patience.lowerBound), Self.patience.upperBound)
        }

        mutating func end(haveCome: Bool) {
            wanted = 0
            penalty = haveCome ? 0 : min(max(penalty * 2, Self.penalties.lowerBound), Self.penalties.upperBound)
            hurried = penalty
        }
    }

    /// Whether a commit is likely to be short, and alone.
    enum Pace: Sendable {
        case unknown
        /// It held one append, and the disk was quick.
        case single
        /// It held several, which one sync served.
        case grouped
        case slow
    }

    /// What the writing thread has to do.
    enum Duty: Sendable { case commit, rest, end }

    /// Up to which size an append is committed by its caller's thread.
    private static let inPlaceBytesMax = 64 << 10
    private static let inPlaceEventsMax = 64
    private static let spinInterval = Duration.microseconds(50)
    /// How long appends pause before LMDB takes what is ahead of it.
    private static let restInterval = Duration.milliseconds(200)

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
        let (isAdded, isIdle) = state.withLock { state in
            if state.isClosed { return (false, false) }
            state.waiting.append(work)
            return (true, !state.isCommitting && state.count >= state.gathering.wanted)
        }
        // Whoever commits looks for further work at its end.
        if isIdle { state.wake() }
        return isAdded
    }

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// Refuses further work; what waits is still done, until a deadline.
    func close(_ end: ContinuousClock.Instant) { state.change { ($0.isClosed, $0.end) = (true, end) } }

    /// Whether it is closed and the deadline has passed.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Whether work waits, and its deadline has not passed.
    var isWaited: Bool { state.withLock { $0.count > 0 && !$0.isGivenUp } }

    // MARK: The turn to commit

    /// Takes the turn to commit for the writing thread, once there is something to do. `endCommit` follows, but after `end`.
    func nextDuty() -> Duty {
        while true {
            spin()
            let rest = state.withLock { $0.isCommitting ? .now + Self.restInterval : $0.rest }
            if let rest {
                let left = ContinuousClock.now.duration(to: rest)
                if left > .zero, !state.wait(milliseconds: nearest(left / .milliseconds(1)).plus(1), until: { $0.hasDuty }) { continue }
            } else {
                state.wait(until: { $0.hasDuty || $0.rest != nil }, { _ in })
            }
            gather()
            let duty = state.withLock { $0.takeDuty() }
            if let duty { return duty }
        }
    }

    /// Stays awake for a moment where several are expected, and leaves the processor to whoever wants it: being woken takes as long as their
    /// coming.
    private func spin() {
        let end = ContinuousClock.now + Self.spinInterval
        while state.withLock({ $0.isGathering }), .now < end { sched_yield() }
    }

    /// Waits for those who are expected beside the ones that wait already.
    private func gather() {
        let patience = state.withLock { state -> Int? in
            if state.gathering.hurried > 0 { state.gathering.hurried -= 1 }
            guard state.isGathering, state.count > 0 else { return nil }
            state.gathering.wanted = state.gathering.expected
            return state.gathering.patienceMicroseconds
        }
        guard let patience else { return }
        let haveCome = state.wait(microseconds: patience) { $0.count >= $0.gathering.wanted || $0.isClosed }
        state.withLock { $0.gathering.end(haveCome: haveCome) }
    }

    /// Takes the turn for a caller's own thread, which commits without waking another: where nothing waits, nobody commits, and the last
    /// commit was short and held one append. False where the writing thread has to do it.
    func beginInPlace(_ request: AppendRequest) -> Bool {
        guard request.payloadBytes <= Self.inPlaceBytesMax, request.events.count <= Self.inPlaceEventsMax, request.rows.isEmpty else {
            return false
        }
        return state.withLock { state in
            guard state.pace == .single, state.count == 0, !state.isCommitting, !state.isClosed else { return false }
            state.isCommitting = true
            return true
        }
    }

    /// Gives the turn back.
    /// - Parameters:
    ///   - isHolding: whether LMDB has to take what is ahead of it once appends pause.
    ///   - pace: nil where it is as before.
    ///   - answered: how many appends it has held.
    func endCommit(isHolding: Bool, _ pace: Pace?, answered: Int = 0, took duration: Duration = .zero) {
        let isWaited = state.withLock { state in
            let hadNoRest = state.rest == nil
            state.isCommitting = false
            state.rest = isHolding ? .now + Self.restInterval : nil
            if let pace { state.pace = pace }
            state.gathering.expect(answered > 0 ? answered + state.count : 0, afterCommitOf: duration)
            return state.hasDuty || hadNoRest && isHolding
        }
        if isWaited { state.wake() }
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

    /// Whether the cluster log is needed for what waits at the front, of a node.
    var needsCluster: Bool {
        state.withLock { state in
            guard state.taken < state.waiting.count else { return false }
            if case .update(let update) = state.waiting[state.taken] { return update.needsCluster }
            return true
        }
    }

    /// Whether an update waits that a node can make without the cluster log.
    var hasLocal: Bool {
        state.withLock { state in
            state.waiting[state.taken...].contains { work in
                if case .update(let update) = work { return !update.needsCluster }
                return false
            }
        }
    }

    /// Takes the first update that a node can make without the cluster log; nil where none waits.
    func takeLocal() -> Batch? {
        state.withLock { state in
            for work in state.waiting[state.taken...] {
                guard case .update(let update) = work, !update.needsCluster else { continue }
                return state.takeOut { $0.number == update.number }.first == nil ? nil : .update(update)
            }
            return nil
        }
    }

    /// Adds appends that have come since, as many as the commit may still hold; false where there are none.
    func takeMore(_ appends: inout [Append], _ options: Options) -> Bool { state.withLock { $0.take(&appends, options) } }

    /// Puts work back to the front, which needs the cluster log.
    func putBack(_ batch: Batch) {
        state.withLock { state in
            let rest = state.waiting[state.taken...]
            switch batch {
            case .appends(let appends): state.waiting = appends.map { .append($0) } + rest
            case .update(let update):
                state.waiting = [.update(Update(ofCluster: update))] + rest
            }
            state.taken = 0
        }
    }

    /// Removes the work whose deadline has passed.
    func takeOverdue() -> [Work] {
        let now = ContinuousClock.now
        return state.withLock { state in state.takeOut { $0.deadline <= now } }
    }

    /// Removes work whose caller was cancelled; nil where it has been taken already.
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

    /// Whether more appends are expected than wait.
    fileprivate var isGathering: Bool {
        !isCommitting && !isClosed && gathering.expected > 1 && count < gathering.expected && gathering.hurried == 0
    }

    /// Whether the writing thread has something to do now.
    fileprivate var hasDuty: Bool { !isCommitting && (count > 0 || isClosed) }

    /// Takes the turn; nil where there is nothing to do yet.
    fileprivate mutating func takeDuty() -> CommitQueue.Duty? {
        if isCommitting { return nil }
        if count == 0, isClosed { return .end }
        let duty: CommitQueue.Duty
        if count > 0 { duty = .commit } else if let rest, rest <= .now { duty = .rest } else { return nil }
        isCommitting = true
        return duty
    }

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
