internal import Bytes
package import EventModel

/// The number of events of a type, by its name at birth, and of a birth version.
package struct CensusRow: Hashable, Sendable {
    package var type: String
    package var born: SchemaVersion
    package var count: UInt64

    package init(type: String, born: SchemaVersion, count: UInt64) {
        (self.type, self.born, self.count) = (type, born, count)
    }
}

/// The last event of a stream.
package struct StreamHead: Hashable, Sendable {
    package var revision: Revision
    package var position: Position
    /// The target of the last event's jump pointer; 0 for a stream's first event.
    var jump: Position
}

/// Counts events by kind. Consecutive events are mostly of one kind: the kind that was counted last is not in the table yet.
struct CensusCount: Sendable {
    private var counts: [IndexEntries.CensusKey: UInt64] = [:]
    private var run: (kind: IndexEntries.CensusKey, count: UInt64) = (IndexEntries.CensusKey(type: 0, born: 0), 0)

    mutating func add(_ kind: IndexEntries.CensusKey) {
        if kind != run.kind {
            if run.count > 0 { counts[run.kind, default: 0] += run.count }
            run = (kind, 0)
        }
        run.count += 1
    }

    /// Adds the counts to those of other events.
    func add(to census: inout [IndexEntries.CensusKey: UInt64]) {
        census.merge(counts) { $0.plus($1) }
        if run.count > 0 { census[run.kind, default: 0] = census[run.kind, default: 0].plus(run.count) }
    }
}

extension CensusRow {
    static func rows(_ census: [IndexEntries.CensusKey: UInt64], names: [TypeID: String]) throws -> [CensusRow] {
        try census.map { kind, count in
            guard let name = names[kind.type] else {
                throw EvstoreError.corruptBlock(position: .start, reason: "the census counts the type \(kind.type), which has no name")
            }
            return CensusRow(type: name, born: SchemaVersion(rawValue: kind.born), count: count)
        }.sorted { ($0.type, $0.born) < ($1.type, $1.born) }
    }
}
