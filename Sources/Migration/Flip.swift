internal import EventLog
internal import EventModel
internal import Platform
internal import Projections

/// The one transaction that makes read models live: those of another version in a replay or rollback, or rebuilt ones of the same version.
enum Flip {
    enum Cause: String, Sendable {
        case replay, rollback
        /// Replaces read models of the same version by ones that lack fewer events.
        case retry
        /// Adds missing read models of the same version.
        case complete

        fileprivate var phases: (inside: MigrationPhase, after: MigrationPhase) {
            switch self {
            case .replay: (.flipInside, .flipAfter)
            case .rollback: (.rollbackInside, .rollbackAfter)
            case .retry, .complete: (.retryInside, .retryAfter)
            }
        }
    }

    /// What becomes live, and the state in which that was planned.
    struct Order: Sendable {
        var cause: Cause
        var planned: StoreState
        var generationSet: GenerationSet
        /// Definitions that change what a promised version means: the flip itself writes them.
        var definitions: Register?
        var outcome = "done"
        var began: Instant
    }

    struct Outcome: Sendable {
        var position: Position
        var began: Timestamp
        /// How long nobody else could write.
        var pause: Duration

        /// The pause for the service's log, to the microsecond.
        var milliseconds: String { shortDecimal(pause.inSeconds * 1_000, digits: 3) }
    }

    /// Flips; returns nil where so many events were appended since the read models last followed that the caller must follow again.
    ///
    /// Order: every generation is synced and ready before this call, which writes only the log's transaction.
    static func run(_ order: Order, _ context: MigrationContext) async throws(EvstoreError) -> Outcome? {
        let bytes = try order.generationSet.bytesOnDisk()
        let flipped: (position: Position, time: Timestamp, began: Instant)? = try await context.log.changing { update in
            let (time, began) = (Timestamp.now, Instant.now)
            try update.requireStamp(of: order.planned)
            guard try order.generationSet.isReady(at: update.last) else { return nil }
            try move(order, digest: try order.generationSet.digest(), bytes, in: &update)
            MigrationPhase.reached(order.cause.phases.inside)
            return (update.last.position, time, began)
        }
        guard let flipped else { return nil }
        let pause = flipped.began.duration(to: .now)
        MigrationPhase.reached(order.cause.phases.after)
        return Outcome(position: flipped.position, began: flipped.time, pause: pause)
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
        let duration = order.began.duration(to: .now)
        try Journal.append(
            .init(
                JournalKind(rawValue: order.cause.rawValue), from: from, to: to, position: position, duration: duration,
                readModelBytes: bytes, outcome: order.outcome, digest: digest),
            to: &update)
        if order.cause == .replay { try Journal.append(.init(.flip, from: from, to: to, position: position, digest: digest), to: &update) }
    }
}

/// The changes of the live version in the journal: they determine where a rollback leads and where its tail begins.
struct FlipHistory {
    private var list: [(from: SchemaVersion, to: SchemaVersion, position: Position)] = []

    init(_ log: EventLog) throws(EvstoreError) {
        try Journal.readBackwards(log) { row in
            if row.kind == .flip, let from = row.from, let to = row.to { list.append((from, to, row.position ?? .start)) }
            return true
        }
        list.reverse()
    }

    mutating func add(from: SchemaVersion, to: SchemaVersion, at position: Position) {
        list.append((from, to, position))
    }

    /// The version that a rollback leads to. Where `version` is nil, it is the version from which the last replay reached or passed the
    /// live one, or the floor if that is higher. So a rollback is possible whenever the floor is below the live version.
    /// - Throws: `EvstoreError`: nothingToRollBackTo, unknownVersion, belowFloor, usage.
    func target(_ version: SchemaVersion?, _ state: StoreState) throws(EvstoreError) -> SchemaVersion {
        guard let version else {
            let came = list.last { $0.to >= state.live && $0.from < state.live }?.from ?? state.floor
            guard state.floor < state.live else { throw .nothingToRollBackTo(live: state.live) }
            return max(came, state.floor)
        }
        guard version <= state.head else {
            throw .unknownVersion(version.description, known: SchemaVersion(1).through(state.head).map(\.description))
        }
        guard version >= state.floor else { throw .belowFloor(version, floor: state.floor) }
        guard version <= state.live else {
            throw .usage(
                "\(version) is above the live version \(state.live): a rollback goes down",
                fix: "go up by a replay: \(.replay(to: version))")
        }
        return version
    }

    /// The last position when a version above the target became live; nil where it is not known.
    func reached(_ target: SchemaVersion, _ state: StoreState) -> Position? {
        list.last { $0.from <= target && $0.to > target && $0.to <= state.top }?.position
    }

    /// The last position before events could be born above a version; the log's start where it is not known.
    func firstAbove(_ version: SchemaVersion) -> Position { list.first { $0.to > version }?.position ?? .start }
}
