internal import Bytes
internal import EventLog
internal import EventModel

/// The first events of each way that events take through the programs of a build: of thousands that are alike a few, and whatever is
/// rare. One for each thread.
struct Witnesses: ~Copyable {
    /// Events of one type and birth version.
    fileprivate struct Kind: Hashable {
        let type: TypeID
        let born: SchemaVersion
    }

    /// Positions by kinds and ways (`Viewer.way`), in the order of the log.
    struct List: Sendable {
        fileprivate var events: [Kind: [UInt64: [Position]]] = [:]
    }

    struct Full: BitwiseCopyable, Sendable {
        var type: TypeID = 0
        var born = -1
        var way: UInt64 = 0
    }

    private(set) var list = List()
    /// Some of the ways of which no more are wanted: what is found here needs no look at the list.
    private var full = Slots<Full>(repeating: Full(), count: 64)

    /// How many events of a way, how many ways of a kind, and how many events of all.
    fileprivate static let (each, waysMax, most) = (8, 64, 1 << 12)

    @inline(__always)
    mutating func note(_ record: borrowing RecordView, way: UInt64) {
        let (type, born) = (record.type, record.born)
        let code = (way ^ UInt64(type) << 32 ^ UInt64(truncatingIfNeeded: born.number)) &* 0x9e37_79b9_7f4a_7c15
        let place = Int(truncatingIfNeeded: code >> 58)
        if full[place].way == way, full[place].born == born.number, full[place].type == type { return }
        if !list.take(record.position, of: Kind(type: type, born: born), way) {
            full[place] = Full(type: type, born: born.number, way: way)
        }
    }
}

extension Witnesses.List {
    /// False where it has enough of the way.
    fileprivate mutating func take(_ position: Position, of kind: Witnesses.Kind, _ way: UInt64) -> Bool {
        let known = events[kind, default: [:]]
        let count = known[way]?.count ?? 0
        guard count < Witnesses.each, count > 0 || known.count < Witnesses.waysMax else { return false }
        events[kind, default: [:]][way, default: []].append(position)
        return true
    }

    /// The first of each way, in the order of the log: the same ones, whichever thread has seen which events.
    static func merged(_ lists: [Self]) -> [Position] {
        var all: [Witnesses.Kind: [UInt64: [Position]]] = [:]
        for list in lists { all.merge(list.events) { $0.merging($1) { $0 + $1 } } }
        // The first ways of a kind are known with their first event. Where there are more, a thread may not have seen the others of these.
        let ways = all.values.flatMap { ways in
            let sorted = ways.values.map { Array($0.sorted().prefix(Witnesses.each)) }.sorted { $0[0] < $1[0] }
            return sorted.count < Witnesses.waysMax ? sorted : sorted.prefix(Witnesses.waysMax).map { [$0[0]] }
        }
        let found = ways.flatMap(\.self)
        return Array((found.count > Witnesses.most ? ways.map { $0[0] } : found).sorted().prefix(Witnesses.most))
    }
}
