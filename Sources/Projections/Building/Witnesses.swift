internal import Bytes
internal import EventLog
internal import EventModel

/// The first events of each way that events take through the programs of a build: of thousands that are alike a few, and whatever is
/// rare. One for each thread.
struct Witnesses: ~Copyable {
    /// Events of one type and birth version that go one way (`Viewer.way`).
    fileprivate struct Kind: Hashable {
        let type: TypeID
        let born: SchemaVersion
        let way: UInt64
    }

    /// Positions by their kinds, in the order of the log.
    struct List: Sendable {
        fileprivate var events: [Kind: [Position]] = [:]
    }

    private(set) var list = List()
    /// Kinds that have all they may have: what is found here needs no look at the list.
    private var full = Slots<UInt64>(repeating: 0, count: 64)

    /// How many of one kind, and of how many kinds.
    fileprivate static let (each, kindsMax) = (8, 1 << 10)

    @inline(__always)
    mutating func note(_ record: borrowing RecordView, way: UInt64) {
        let code = (way ^ UInt64(record.type) << 32 ^ UInt64(truncatingIfNeeded: record.born.number)) | 1
        let place = Int(truncatingIfNeeded: code >> 8 & 63)
        if full[place] == code { return }
        if !list.take(record.position, of: Kind(type: record.type, born: record.born, way: way)) { full[place] = code }
    }
}

extension Witnesses.List {
    /// False where it has enough of the kind.
    fileprivate mutating func take(_ position: Position, of kind: Witnesses.Kind) -> Bool {
        let count = events[kind]?.count ?? 0
        guard count < Witnesses.each, count > 0 || events.count < Witnesses.kindsMax else { return false }
        events[kind, default: []].append(position)
        return true
    }

    /// The first of each kind, in the order of the log, whichever thread has seen them.
    static func merged(_ lists: [Self]) -> [Position] {
        var events: [Witnesses.Kind: [Position]] = [:]
        for list in lists { events.merge(list.events) { $0 + $1 } }
        return events.values.flatMap { $0.sorted().prefix(Witnesses.each) }.sorted()
    }
}
