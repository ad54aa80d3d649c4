internal import EventLog
internal import EventModel
package import Projections

/// What the page asks for beside what every program does.
extension EventStore {
    /// Gives the log as it was stored to `body`, from a position on or from the newest event back, until it returns false.
    package func readStored(from: Position? = nil, backwards: Bool, _ body: (RecordedEvent) throws -> Bool) throws {
        let evolution = try evolving.current()
        let eventReader = try EventReader(self, evolution.history, at: nil)
        var pages = LogPages(eventReader, through: evolution.last, from: from, limit: nil, backwards: backwards)
        while let page = try pages.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// Where the event is whose writer gave it an id; nil where there is none.
    package func position(of id: EventID) throws(EvstoreError) -> Position? {
        try converting(at: path) { try log.read { reader in try reader.position(of: id) } }
    }

    /// What the first events of a stream make of the rows of a read model, without events of other streams.
    package func trace(
        _ projection: String, of stream: StreamName, at version: SchemaVersion, limit: Int
    ) throws(EvstoreError) -> [RowStep] {
        let trace = try trace(projection, at: version)
        return try converting(at: path) {
            try log.read { reader in
                let eventReader = try eventReader(at: version, reader)
                guard let stored = try eventReader.storedName(of: stream, reader) else { return [] }
                var positions: [Position] = []
                try reader.stream(stored, from: .first, limit: limit) { record in
                    positions.append(record.position)
                    return true
                }
                return try positions.flatMap { try trace.take($0, reader) }
            }
        }
    }

    /// The events that touch a row, the newest first, before a position or from the log's end: at most so many are looked at, and `rest` is
    /// where to go on.
    package func events(
        touching key: String, of projection: String, at version: SchemaVersion, before: Position? = nil, lookingAt count: Int
    ) throws(EvstoreError) -> (events: [(position: Position, type: String)], rest: Position?) {
        let trace = try trace(projection, at: version)
        return try converting(at: path) {
            try log.read { reader in
                let end = before.map { $0.rawValue } ?? reader.last.position.rawValue + 1
                if end <= 1 { return ([], nil) }
                let first = end - min(end - 1, UInt64(count))
                let positions = try trace.positions(
                    touching: Array(key.utf8), from: Position(first), through: Position(end - 1), reader)
                let events = try positions.reversed().map { position in
                    (position: position, type: try reader.record(at: position) { log.name(ofType: $0.type) } ?? "")
                }
                return (events, first > 1 ? Position(first) : nil)
            }
        }
    }

    private func trace(_ projection: String, at version: SchemaVersion) throws(EvstoreError) -> RowTrace {
        let evolution = try evolving.current()
        return try RowTrace(evolution.definition(named: projection, at: version), log, evolution.history, at: version)
    }
}
