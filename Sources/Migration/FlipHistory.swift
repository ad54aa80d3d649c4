internal import EventLog
internal import EventModel

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

    /// Adds a flip that a replay would make.
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

    /// The last position when a version above the target became live.
    func reached(_ target: SchemaVersion, _ state: StoreState) -> Position {
        list.last { $0.from <= target && $0.to > target && $0.to <= state.top }?.position ?? Position(.max)
    }

    /// The last position before events could be born above a version; the log's start where it is not known.
    func firstAbove(_ version: SchemaVersion) -> Position { list.first { $0.to > version }?.position ?? .start }
}
