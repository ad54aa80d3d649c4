internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections

/// The one transaction that makes a version's read models the live ones: of a replay, of a rollback, or
/// under the same version where one was built anew.
enum Flip {
    enum Cause: String, Sendable {
        case replay, rollback
        /// Under the same version: replaces read models by ones that lack fewer events.
        case retry
        /// Under the same version: adds read models that were missing.
        case complete

        fileprivate var kind: JournalKind { JournalKind(rawValue: rawValue) }

        fileprivate var inside: MigrationPhase {
            switch self {
            case .replay: .flipInside
            case .rollback: .rollbackInside
            case .retry, .complete: .retryInside
            }
        }

        fileprivate var after: MigrationPhase {
            switch self {
            case .replay: .flipAfter
            case .rollback: .rollbackAfter
            case .retry, .complete: .retryAfter
            }
        }
    }

    /// What is about to become live, and the state it was planned in.
    struct Order: Sendable {
        var cause: Cause
        var planned: StoreState
        var generationSet: GenerationSet
        /// Definitions that change what a promised version means, and so are written by the flip itself.
        var definitions: Register?
        /// The outcome that the journal notes.
        var outcome = "done"
        var began: ContinuousClock.Instant
    }

    struct Outcome: Sendable {
        var position: Position
        var began: Timestamp
        /// How long no one else could write.
        var pauseMilliseconds: Double
    }

    /// Nil where so many events were appended since the last following that the caller has to follow again.
    ///
    /// Order: every generation is synced and ready before this; here nothing but the log's transaction is written.
    static func run(_ order: Order, _ site: MigrationSite) async throws(EvstoreError) -> Outcome? {
        let bytes = try order.generationSet.bytesOnDisk()
        let flipped: (position: Position, time: Timestamp, began: ContinuousClock.Instant)? = try await site.log.changing { update in
            let (time, began) = (Timestamp.now, ContinuousClock.now)
            try update.requireStamp(of: order.planned)
            guard try order.generationSet.isReady(site, at: update.last) else { return nil }
            try move(order, digest: try order.generationSet.digest(site), bytes, in: &update)
            MigrationPhase.reached(order.cause.inside)
            return (update.last.position, time, began)
        }
        guard let flipped else { return nil }
        let pause = flipped.began.duration(to: .now)
        MigrationPhase.reached(order.cause.after)
        return Outcome(position: flipped.position, began: flipped.time, pauseMilliseconds: pause.inSeconds * 1_000)
    }

    private static func move(_ order: Order, digest: String, _ bytes: UInt64, in update: inout LogUpdate) throws {
        let (from, to, position) = (update.state.live, order.generationSet.version, update.last.position)
        try order.definitions?.writeDefinitions(to: &update)
        for entry in order.generationSet.entries { update.state.generations[entry.fingerprint] = entry.directory }
        if order.cause != .complete {
            update.state.live = to
            update.state.top = max(update.state.top, to)
        }
        try update.state.checkNumbers()
        let seconds = order.began.duration(to: .now).inSeconds
        try Journal.append(
            .init(
                order.cause.kind, from: from, to: to, position: position, seconds: seconds, readModelBytes: bytes,
                outcome: order.outcome, digest: digest),
            to: &update)
        if order.cause == .replay { try Journal.append(.init(.flip, from: from, to: to, position: position, digest: digest), to: &update) }
    }
}
