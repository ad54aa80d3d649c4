internal import EventModel

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
        let since: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        /// Whether the update is known to change what all nodes of a cluster share, or only asks the cluster log.
        let needsCluster: Bool
        /// Nil for an update that takes in what a node's cluster log has.
        let body: Body?
        let finish: @Sendable (Result<Void, any Error>) -> Void

        init(number: UInt64, deadline: ContinuousClock.Instant, body: Body?, finish: @escaping @Sendable (Result<Void, any Error>) -> Void)
        {
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

        /// How long its caller has waited.
        var waited: Duration {
            let since =
                switch self {
                case .append(let append): append.request.since
                case .update(let update): update.since
                }
            return since.duration(to: .now)
        }

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
        var deadline: ContinuousClock.Instant {
            switch self {
            case .appends(let appends): appends.map(\.request.deadline).max() ?? .now
            case .update(let update): update.deadline
            }
        }

        func fail(_ error: any Error) {
            switch self {
            case .appends(let appends): for append in appends { append.finish(.failure(error)) }
            case .update(let update): update.finish(.failure(error))
            }
        }
    }
}
