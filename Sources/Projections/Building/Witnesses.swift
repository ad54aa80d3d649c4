internal import Bytes
internal import EventLog
internal import EventModel

/// A sample of the log for a build: for each trace of events through the programs, the first few events that took it. Frequent traces yield
/// a few events of thousands, and rare ones are included. Each thread has its own.
struct Witnesses: ~Copyable {
    /// Positions by kind and trace (`PathRunner.trace`), in the order of the log.
    struct List: Sendable {
        fileprivate var events: [StoredKind: [UInt64: [Position]]] = [:]
    }

    struct Full: BitwiseCopyable, Sendable {
        var type: TypeID = 0
        var born = -1
        var trace: UInt64 = 0
    }

    private(set) var list = List()
    /// A small cache of traces for which no more events are needed, which avoids searching the list.
    private var full = UniqueArray<Full>(repeating: Full(), count: 64)

    /// The limits: events of a trace, traces of a kind, and events in total.
    fileprivate static let (each, tracesMax, most) = (8, 64, 1 << 12)

    @inline(__always)
    mutating func note(_ record: borrowing RecordView, trace: UInt64) {
        let (type, born) = (record.type, record.born)
        let code = (trace ^ UInt64(type) << 32 ^ UInt64(truncatingIfNeeded: born.number)) &* 0x9e37_79b9_7f4a_7c15
        let place = Int(truncatingIfNeeded: code >> 58)
        if full[place].trace == trace, full[place].born == born.number, full[place].type == type { return }
        if !list.take(record.position, of: StoredKind(type: type, born: born), trace) {
            full[place] = Full(type: type, born: born.number, trace: trace)
        }
    }
}

extension Witnesses.List {
    /// Returns false if the list has enough events of the trace.
    fileprivate mutating func take(_ position: Position, of kind: StoredKind, _ trace: UInt64) -> Bool {
        let known = events[kind, default: [:]]
        let count = known[trace]?.count ?? 0
        guard count < Witnesses.each, count > 0 || known.count < Witnesses.tracesMax else { return false }
        events[kind, default: [:]][trace, default: []].append(position)
        return true
    }

    /// The first events of each trace, in the order of the log; the result does not depend on which thread has seen which events.
    static func merged(_ lists: [Self]) -> [Position] {
        var all: [StoredKind: [UInt64: [Position]]] = [:]
        for list in lists { all.merge(list.events) { $0.merging($1) { $0 + $1 } } }
        // The first traces of a kind are known with their first events. If there are more, a thread may have missed further events of them.
        let traces = all.values.flatMap { traces in
            let sorted = traces.values.map { Array($0.sorted().prefix(Witnesses.each)) }.sorted { $0[0] < $1[0] }
            return sorted.count < Witnesses.tracesMax ? sorted : sorted.prefix(Witnesses.tracesMax).map { [$0[0]] }
        }
        let found = traces.flatMap(\.self)
        return Array((found.count > Witnesses.most ? traces.map { $0[0] } : found).sorted().prefix(Witnesses.most))
    }
}
