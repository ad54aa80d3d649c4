internal import EventModel

extension CommitQueue {
    struct Append: Sendable {
        let number: UInt64
        let request: AppendRequest
        let finish: @Sendable (Result<AppendOutcome, any Error>) -> Void
    }

    struct Update: Sendable {
        let number: UInt64
        let since = ContinuousClock.now
        let deadline: ContinuousClock.Instant
        /// Whether it is known to change what is the cluster's, or asks for it.
        var needsCluster = false
        /// Nil takes in what the cluster log has, of a node.
        let body: (@Sendable (inout LogUpdate) throws -> Void)?
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
            case .append(let append): append.finish(.failure(error))
            case .update(let update): update.finish(.failure(error))
            }
        }
    }

    /// The work of one transaction.
    enum Batch: Sendable {
        case appends([Append])
        case update(Update)

        /// When the last of its callers stops waiting: one with less time hears later rather than that nobody knows.
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
