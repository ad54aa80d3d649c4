internal import Bytes
internal import EventModel
internal import Glibc
internal import Platform

/// Appends and updates that wait to be committed, first come, first served, each until its deadline; and the turn to commit, which one
/// thread has at a time.
final class CommitQueue: Sendable {
    fileprivate struct State {
        var waiting: [Work] = []
        /// How many at the front were taken already.
        var taken = 0
        var isClosed = false
        /// After closing: until when the waiting work is still done.
        var end: Instant?
        var numbers: UInt64 = 0
        /// Whether a thread commits. Only that thread uses the session.
        var isCommitting = false
        /// Whether the last commit of appends was quick and held one: then the next one is likely to be short, and alone.
        var isSingle = false
        /// When LMDB takes in what is ahead of it, unless another commit comes first.
        var roundEnd: Instant?
        var gathering = Gathering()

        var count: Int { waiting.count - taken }
    }

    /// The callers that a commit waits for: those that were just answered, append again at once, and so share a sync with those that wait
    /// already.
    fileprivate struct Gathering {
        /// How many callers came together with the last commit: it has answered them, or they waited when it ended.
        var expected = 0
        var took = Duration.zero
        /// While the writing thread waits: how many callers wake it; else 0.
        var wanted = 0
        /// How many commits still begin without waiting, since expected callers did not come; and how many will do so after the next such
        /// time.
        var hurried = 0
        var penalty = 0
        static let patience = 20 ... 1_000
        static let penalties = 4 ... 256

        mutating func expect(_ count: Int, afterCommitOf duration: Duration) { (expected, took) = (count, duration) }

        /// Half the time of the last commit, within bounds.
        var patienceMicroseconds: Int {
            min(max(nearest(took / .microseconds(2)), Self.patience.lowerBound), Self.patience.upperBound)
        }

        mutating func end(haveCome: Bool) {
            wanted = 0
            penalty = haveCome ? 0 : min(max(penalty * 2, Self.penalties.lowerBound), Self.penalties.upperBound)
            hurried = penalty
        }
    }

    enum Duty: Sendable { case commit, endRound, end }

    /// The largest append that the caller's own thread commits.
    private static let inPlaceBytesMax = 64 << 10
    private static let inPlaceEventsMax = 64
    private static let spinInterval = Duration.microseconds(50)
    /// How long appends must pause before LMDB takes in what is ahead of it.
    private static let roundPause = Duration.milliseconds(200)

    private let state = Monitor(State())

    /// A number that tells this work from all others.
    func number() -> UInt64 {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    /// Adds work; false where the queue is closed.
    func add(_ work: Work) -> Bool {
        let (isAdded, isIdle) = state.withLock { state in
            if state.isClosed { return (false, false) }
            state.waiting.append(work)
            return (true, !state.isCommitting && state.count >= state.gathering.wanted)
        }
        // A thread that commits looks for further work when it ends.
        if isIdle { state.wake() }
        return isAdded
    }

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// Refuses further work; what waits already is still done, until a deadline.
    func close(_ end: Instant) { state.change { ($0.isClosed, $0.end) = (true, end) } }

    /// Whether the queue is closed and this deadline has passed.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Whether work waits and may still be done.
    var isWaited: Bool { state.withLock { $0.count > 0 && !$0.isGivenUp } }

    // MARK: The turn to commit

    /// Takes the turn to commit for the writing thread, as soon as there is something to do. The thread calls `endCommit` afterwards,
    /// except after `end`.
    func nextDuty() -> Duty {
        while true {
            spin()
            let roundEnd = state.withLock { $0.isCommitting ? .now + Self.roundPause : $0.roundEnd }
            if let roundEnd {
                let left = Instant.now.duration(to: roundEnd)
                if left > .zero, !state.wait(milliseconds: nearest(left / .milliseconds(1)).plus(1), until: { $0.hasDuty }) { continue }
            } else {
                state.wait(until: { $0.hasDuty || $0.roundEnd != nil }, { _ in })
            }
            gather()
            let duty = state.withLock { $0.takeDuty() }
            if let duty { return duty }
        }
    }

    /// Stays awake for a moment where several callers are expected, and yields the processor to others: waking up would take as long as
    /// their coming.
    private func spin() {
        let end = Instant.now + Self.spinInterval
        while state.withLock({ $0.isGathering }), .now < end { sched_yield() }
    }

    /// Waits for the callers that are expected in addition to those that wait already.
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

    /// Takes the turn for a caller's own thread, which commits without waking another one: only if nothing waits, no thread commits, and
    /// the last commit was short and held one append. If false, the writing thread has to make the commit.
    func beginInPlace(_ request: AppendRequest) -> Bool {
        guard request.payloadBytes <= Self.inPlaceBytesMax, request.events.count <= Self.inPlaceEventsMax, request.rows.isEmpty else {
            return false
        }
        return state.withLock { state in
            guard state.isSingle, state.count == 0, !state.isCommitting, !state.isClosed else { return false }
            state.isCommitting = true
            return true
        }
    }

    /// Gives the turn back.
    /// - Parameters:
    ///   - isHolding: whether LMDB has to take in what is ahead of it once appends pause.
    ///   - isSingle: whether the commit was quick and held one append; nil for one that has written nothing.
    ///   - answered: how many appends the commit held.
    func endCommit(isHolding: Bool, isSingle: Bool? = nil, answered: Int = 0, took duration: Duration = .zero) {
        let isWaited = state.withLock { state in
            let hadNoRoundEnd = state.roundEnd == nil
            state.isCommitting = false
            state.roundEnd = isHolding ? .now + Self.roundPause : nil
            if let isSingle { state.isSingle = isSingle }
            state.gathering.expect(answered > 0 ? answered + state.count : 0, afterCommitOf: duration)
            return state.hasDuty || hadNoRoundEnd && isHolding
        }
        if isWaited { state.wake() }
    }

    /// Takes as many appends as one commit may hold, at least one, or one update; nil where nothing waits.
    func take(_ options: Options) -> Batch? {
        state.withLock { state in
            var appends: [Append] = []
            if state.take(&appends, options) { return .appends(appends) }
            guard case .update(let update) = state.first else { return nil }
            state.taken += 1
            state.forgetTaken()
            return .update(update)
        }
    }

    /// For a node: whether the first waiting work needs the cluster log.
    var needsCluster: Bool { state.withLock { $0.first?.isLocal == false } }

    /// Whether an update waits that a node can make without the cluster log.
    var hasLocal: Bool { state.withLock { $0.waiting[$0.taken...].contains(where: \.isLocal) } }

    /// Takes the first update that a node can make without the cluster log; nil where none waits.
    func takeLocal() -> Batch? {
        state.withLock { state in
            guard let index = state.waiting[state.taken...].firstIndex(where: \.isLocal) else { return nil }
            guard case .update(let update) = state.waiting.remove(at: index) else { return nil }
            state.forgetTaken()
            return .update(update)
        }
    }

    /// Adds appends that have come since, as many as still fit into the commit; false where there are none.
    func takeMore(_ appends: inout [Append], _ options: Options) -> Bool { state.withLock { $0.take(&appends, options) } }

    /// Puts work back to the front that needs the cluster log, or the commit that is being made.
    func putBack(_ batch: Batch) {
        state.withLock { state in
            let works = if case .update(let update) = batch { [Work.update(Update(ofCluster: update))] } else { batch.works }
            state.waiting = works + state.waiting[state.taken...]
            state.taken = 0
        }
    }

    /// Removes the work whose deadline has passed.
    func takeOverdue() -> [Work] {
        let now = Instant.now
        return state.withLock { state in state.takeOut { $0.deadline <= now } }
    }

    /// Removes the work of a caller that was cancelled; nil where it was taken already.
    func withdraw(_ number: UInt64) -> Work? { state.withLock { state in state.takeOut { $0.number == number }.first } }
}

extension CommitQueue.State {
    /// Takes appends from the front, as many as fit into one commit together with those in `appends`; false where none does.
    fileprivate mutating func take(_ appends: inout [CommitQueue.Append], _ options: Options) -> Bool {
        var (events, bytes) = (0, 0)
        for append in appends { (events, bytes) = (events + append.request.events.count, bytes + append.request.payloadBytes) }
        let before = appends.count
        while case .append(let append) = first {
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

    fileprivate var first: CommitQueue.Work? { taken < waiting.count ? waiting[taken] : nil }

    var isGivenUp: Bool { isClosed && end.map { $0 <= .now } ?? false }

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
        if count > 0 { duty = .commit } else if let roundEnd, roundEnd <= .now { duty = .endRound } else { return nil }
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

extension CommitQueue {
    // Classes, since they are passed on several times within a commit, and each copy of a struct would retain all that it refers to.
    final class Append: Sendable {
        /// Zero for an append that never waits in the queue.
        let number: UInt64
        let request: AppendRequest
        let finish: @Sendable (Result<AppendOutcome, any Error>) -> Void

        init(number: UInt64, request: AppendRequest, finish: @escaping @Sendable (Result<AppendOutcome, any Error>) -> Void) {
            (self.number, self.request, self.finish) = (number, request, finish)
        }
    }

    final class Update: Sendable {
        typealias Body = @Sendable (inout LogUpdate) throws -> Void

        let number: UInt64
        let since: Instant
        let deadline: Instant
        /// Whether the update is known to change what all nodes of a cluster share, or only asks the cluster log.
        let needsCluster: Bool
        /// Nil for an update that takes in what a node's cluster log has.
        let body: Body?
        let finish: @Sendable (Result<Void, any Error>) -> Void

        init(number: UInt64, deadline: Instant, body: Body?, finish: @escaping @Sendable (Result<Void, any Error>) -> Void) {
            (self.number, since, self.deadline, needsCluster) = (number, .now, deadline, body == nil)
            (self.body, self.finish) = (body, finish)
        }

        /// An update that has turned out to change what all nodes of the cluster share.
        init(ofCluster update: Update) {
            (number, since, deadline, needsCluster) = (update.number, update.since, update.deadline, true)
            (body, finish) = (update.body, update.finish)
        }
    }

    enum Work: Sendable {
        case append(Append)
        case update(Update)

        private var times: (number: UInt64, since: Instant, deadline: Instant) {
            switch self {
            case .append(let append): (append.number, append.request.since, append.request.deadline)
            case .update(let update): (update.number, update.since, update.deadline)
            }
        }

        var number: UInt64 { times.number }
        var deadline: Instant { times.deadline }

        var waited: Duration { times.since.duration(to: .now) }

        /// Whether a node can do it without the cluster log.
        fileprivate var isLocal: Bool { if case .update(let update) = self { !update.needsCluster } else { false } }

        func fail(_ error: any Error) {
            switch self {
            case .append(let append): append.finish(.failure(error))
            case .update(let update): update.finish(.failure(error))
            }
        }
    }

    /// The work of one transaction.
    enum Batch: Sendable {
        case appends([Append])
        case update(Update)

        /// When the last of its callers stops waiting. A caller with an earlier deadline is answered late, which is better than an unknown
        /// outcome.
        var deadline: Instant { works.map(\.deadline).max() ?? .now }

        func fail(_ error: any Error) { for work in works { work.fail(error) } }

        var works: [Work] {
            switch self {
            case .appends(let appends): appends.map { .append($0) }
            case .update(let update): [.update(update)]
            }
        }
    }
}
