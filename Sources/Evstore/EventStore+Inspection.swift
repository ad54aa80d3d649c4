internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Migration
internal import Platform
package import Projections
internal import SchemaEvolution

/// Queries of the web page that other programs do not need. Nothing here writes.
extension EventStore {
    // MARK: Events

    /// Stored events that match a filter, from a position on or from the newest one back: at most `limit`, among at most `count` that are
    /// examined.
    package func storedEvents(
        from: Position? = nil, backwards: Bool, _ filter: StoredEventFilter = StoredEventFilter(), limit: Int, examining count: Int
    ) throws(EvstoreError) -> StoredEventPage {
        let evolution = try evolving.current()
        let records = FilteredRecords(try EventConverter(self, evolution.history, at: nil), filter, limit: limit, count: count)
        var cursor = EventCursor(self, through: evolution.last, from: from, backwards: backwards, limit: nil)
        var page = StoredEventPage()
        while !cursor.isEnded, !records.isFull { page.events += try cursor.page(records, through: evolution.last) }
        (page.examined, page.last) = (records.examined, records.last)
        return page
    }

    /// The position of the event with an id, generated or given; nil where there is none.
    package func position(of id: EventID) throws(EvstoreError) -> Position? {
        try log.reading { reader in
            if let position = try reader.position(of: id) { return position }
            var made = GeneratedIDs()
            return try made.position(of: id, reader)
        }
    }

    /// The tags that an event has at the version it is seen at, sorted by their bytes.
    package func tags(of event: RecordedEvent) throws(EvstoreError) -> [String] {
        let history = try history(serving: event.version, evolving.current().history)
        return history.shape(of: event.type, at: event.version)?.sortedTags(of: event.payload.lent, in: event.stream.text) ?? []
    }

    /// The events that have a tag at a version, by the index as it is now: at most `limit`, or some more where the last one is one of
    /// several parts. Nil where the index is not built, or so far behind that more than a page's worth of events had to be looked at.
    package func builtEvents(
        tagged tag: String, at version: SchemaVersion, from: Position? = nil, backwards: Bool, limit: Int
    ) throws(EvstoreError) -> [RecordedEvent]? {
        let evolution = try evolving.current()
        try requireVersion(version, evolution)
        guard evolution.tagIndex(at: version) != nil else { return [] }
        let postings = try postings(of: .tags(tag), at: version, from: from, backwards: backwards, evolution)
        guard let postings, evolution.last.position.events(after: postings.checkpoint.position) <= UInt64(options.followBatchEvents)
        else { return nil }
        var events: [RecordedEvent] = []
        var cursor = try cursor(at: version, from: from, limit: limit, backwards: backwards, matching: .tags(tag))
        while let page = try cursor.next() { events += page }
        return events
    }

    // MARK: Streams

    /// Up to `limit` stored events of a stream in order, each with its images at a version or the reason why it has none: from a revision
    /// on, or those before one, or the newest where both are nil. Nil where the stream exists neither under the version's name nor under
    /// the log's.
    package func stream(
        _ name: StreamName, at version: SchemaVersion, from: Revision? = nil, before: Revision? = nil, limit: Int
    ) throws(EvstoreError) -> StreamAtVersion? {
        try log.reading { reader in
            let converter = try converter(at: version, reader)
            let stored = try converter.storedName(of: name, reader) ?? name
            guard let head = try reader.head(of: stored) else { return nil }
            var seen = StreamAtVersion(stored: stored, last: head.revision)
            if from == nil, before == .first { return seen }
            let start = from ?? before.map { $0.previous } ?? head.revision
            try reader.stream(stored, from: start, limit: limit, backwards: from == nil) { record in
                var event = EventAtVersion(
                    position: record.position, revision: record.revision, time: record.time, type: log.name(ofType: record.type),
                    born: record.born)
                do { try converter.read(record, reader, into: &event.images) } catch let error as EvstoreError {
                    if !error.concernsView { throw error }
                    event.error = error
                }
                seen.events.append(event)
                return true
            }
            if from == nil { seen.events.reverse() }
            return seen
        }
    }

    /// The changes that events of a stream, up to `limit` from a revision on, make to the rows of a read model. Ignores the events of other
    /// streams; the fold begins with the stream's first event.
    package func trace(
        _ projection: String, of stream: StreamName, at version: SchemaVersion, from: Revision = .first, limit: Int
    ) throws(EvstoreError) -> [RowChange] {
        let trace = try trace(projection, at: version)
        return try log.reading { reader in
            let stored = try converter(at: version, reader).storedName(of: stream, reader) ?? stream
            var events: [(position: Position, isShown: Bool)] = []
            try reader.stream(stored, from: .first, limit: Int(clamping: from.rawValue).plus(limit)) { record in
                events.append((record.position, record.revision >= from))
                return true
            }
            return try events.flatMap { try trace.take($0.position, showing: $0.isShown, reader) }
        }
    }

    // MARK: Rows

    /// The events that touch a row: at most `limit` of those before a position (the log's end where nil), among at most `count` that are
    /// examined.
    package func events(
        touching key: String, of projection: String, at version: SchemaVersion, before: Position? = nil, limit: Int, examining count: Int
    ) throws(EvstoreError) -> RowHistory {
        let trace = try trace(projection, at: version)
        return try log.reading { reader in
            let last = min(before?.previous ?? reader.last.position, reader.last.position)
            if last == .start { return RowHistory(steps: [], isWhole: true, rest: nil) }
            let first = Position(max(last.next.rawValue.minus(UInt64(clamping: count)), 1))
            let found = try trace.history(of: Array(key.utf8), from: first, through: last, newest: limit, reader)
            let isWhole = first == Position(1)
            let rest = found.isCut ? found.steps.first?.position : isWhole ? nil : first
            return RowHistory(steps: found.steps.reversed(), isWhole: isWhole, rest: rest)
        }
    }

    /// Rows of a read model as it is now, which may be behind the log; nil where it is not built.
    package func builtRows(
        of projection: String, at version: SchemaVersion, prefix: String? = nil, after key: String? = nil, limit: Int
    ) throws(EvstoreError) -> QueryPage<ReadModelRow>? {
        guard let model = try builtModel(projection, at: version) else { return nil }
        var range = KeyRange(prefix: prefix)
        if let key { range.leave(Array(key.utf8), backwards: false) }
        return try model.page(range, backwards: false, limit: limit, pageRows: options.pageEventsMax)
    }

    /// Rows of a read model as it is now in the order of an index; the parameters are those of `query`.
    /// - Throws: `EvstoreError.usage` as `query` does.
    package func builtRows(
        of projection: String, at version: SchemaVersion, index: String, equals values: [IndexValue] = [], from: IndexValue? = nil,
        to: IndexValue? = nil, backwards: Bool = false, after cursor: QueryCursor? = nil, limit: Int
    ) throws(EvstoreError) -> QueryPage<ReadModelRow>? {
        guard let model = try builtModel(projection, at: version) else { return nil }
        var range = try model.range(projection, index, values, from: from, to: to, backwards: backwards)
        if let cursor, !cursor.leave(&range) { throw .usage("the cursor is none of the index \(index)") }
        return try model.page(&range, backwards: backwards, limit: limit, pageRows: options.pageEventsMax)
    }

    /// The indexes that a projection declares: their names, each with the pointers of its members.
    package func indexes(of projection: String, at version: SchemaVersion) throws(EvstoreError) -> [(name: String, members: [String])] {
        let evolution = try evolving.current()
        try requireVersion(version, evolution)
        let definition = try evolution.definition(named: projection, at: version)
        return definition.indexes.list.map { ($0.name, $0.members.map(\.description)) }
    }

    /// The row of a key in a read model as it is now; nil where the read model is not built.
    package func builtRow(
        of projection: String, at version: SchemaVersion, key: String
    ) throws(EvstoreError) -> (row: ReadModelRow?, note: QueryNote)? {
        guard let model = try builtModel(projection, at: version) else { return nil }
        var rows = RowCursor(model.generation, key: key, pageRows: 1)
        return (try rows.next(), model.note)
    }

    /// Rows that differ between two versions of a read model as they are now, behind a key: at most `limit`, among at most `count` that are
    /// compared. Nil where one of the two is not built.
    package func builtDifferences(
        of projection: String, a: SchemaVersion, b: SchemaVersion, after key: String? = nil, limit: Int, comparing count: Int
    ) throws(EvstoreError) -> BuiltDifferences? {
        guard let first = try builtModel(projection, at: a), let second = try builtModel(projection, at: b) else { return nil }
        var range = KeyRange.all
        if let key { range.leave(Array(key.utf8), backwards: false) }
        var pairs = RowPairs(first.generation, second.generation, range, pageRows: options.pageEventsMax)
        var found = BuiltDifferences(a: first.note, b: second.note)
        var last: String?
        while let pair = try pairs.next() {
            if found.differences.count == limit || found.compared == count {
                found.next = last
                break
            }
            (found.compared, last) = (found.compared + 1, pair.key)
            if try pair.isReal { found.differences.append(pair) }
        }
        return found
    }

    /// A read model as it is now: this call neither builds it nor brings it to the log's end.
    private func builtModel(_ projection: String, at version: SchemaVersion) throws(EvstoreError) -> ReadModel? {
        try requireRows(projection)
        let evolution = try evolving.current()
        try requireVersion(version, evolution)
        return try builtModel(evolution.definition(named: projection, at: version), evolution)
    }

    private func builtModel(_ definition: Definition, _ evolution: SchemaSnapshot) throws(EvstoreError) -> ReadModel? {
        guard let name = evolution.state.generations[definition.fingerprint.hex] else { return nil }
        let generation = try generations.generation(name, in: self, evolution.state)
        let header = try generation.header
        let (end, seen) = (evolution.last.position.rawValue, header.checkpoint.position.rawValue)
        let note = QueryNote(
            version: definition.version, checkpoint: header.checkpoint, lag: end - min(end, seen), reason: nil,
            quarantined: header.quarantined)
        return ReadModel(generation: generation, indexes: definition.indexes, note: note)
    }

    func requireVersion(_ version: SchemaVersion, _ evolution: SchemaSnapshot) throws(EvstoreError) {
        if version.rawValue > 0, version <= evolution.history.head { return }
        throw .unknownVersion(version.description, known: evolution.history.versions.map(\.number.description))
    }

    private func trace(_ projection: String, at version: SchemaVersion) throws(EvstoreError) -> RowTrace {
        try requireRows(projection)
        let evolution = try evolving.current()
        try requireVersion(version, evolution)
        return try RowTrace(evolution.definition(named: projection, at: version), log, evolution.history, at: version)
    }

    /// The replay, rollback or other migration that runs in this or another process, and the progress that it last reported; nil where
    /// there is none.
    package func migrationUnderWay() throws(EvstoreError) -> (holder: String, progress: ProgressEvent?)? {
        try converting(at: path) { try StoreLock.migration.work(at: path).map { ($0.holder, $0.progress) } }
    }

    /// The entries of the store's directory by name, each with its bytes on the disk.
    package func parts() throws(EvstoreError) -> [(name: String, bytes: UInt64)] {
        try converting(at: path) { try Directory.names(path).map { ($0, try Directory.bytesOnDisk(path + "/" + $0)) } }
    }

    // MARK: What was put aside

    /// Events in the quarantine of a version's read models, at most `limit`, and how many there are.
    package func quarantine(
        at version: SchemaVersion, limit: Int
    ) throws(EvstoreError) -> (events: [(projection: String, row: QuarantineRow)], count: UInt64) {
        let evolution = try evolving.current()
        try requireVersion(version, evolution)
        var (events, count): ([(projection: String, row: QuarantineRow)], UInt64) = ([], 0)
        for definition in try evolution.definitions(at: version) {
            guard let model = try builtModel(definition, evolution) else { continue }
            count += model.note.quarantined
            for row in try model.generation.quarantined(limit: limit - events.count) { events.append((definition.name, row)) }
        }
        return (events, count)
    }

    /// Events that a consumer has parked, at most `limit`, by position; those that are to be retried come last.
    package func parked(of consumer: String, limit: Int) throws(EvstoreError) -> [ParkedEvent] {
        try converting(at: path) {
            let rows = try log.read { reader in
                try reader.rows(.notes, prefix: ConsumerRow.key(consumer) + Array("/".utf8), limit: limit)
            }
            return try rows.compactMap { row in try ParkedEvent(consumer, key: row.key, row.value) }
        }
    }
}

extension EvstoreError {
    /// Whether the error concerns how one event is seen, and not the store.
    fileprivate var concernsView: Bool {
        switch self {
        case .noImage, .programNeeded, .schemaNewer, .unknownType: true
        default: false
        }
    }
}

/// A filter for stored events; nil members match any.
package struct StoredEventFilter: Sendable {
    /// The type's name as it was stored.
    package var type: String?
    package var born: SchemaVersion?
    /// The beginning of the stream's name at the event's birth version.
    package var stream: String?

    package init(type: String? = nil, born: SchemaVersion? = nil, stream: String? = nil) {
        (self.type, self.born, self.stream) = (type, born, stream)
    }
}

/// The stored events that a search found, in the direction of the search.
package struct StoredEventPage: Sendable {
    package var events: [RecordedEvent] = []
    /// The number of events that were examined, and the last of them.
    package var examined = 0
    package var last: Position?
}

/// A section of a stream as seen at a version.
package struct StreamAtVersion: Sendable {
    /// The name under which the log holds the stream.
    package var stored: StreamName
    /// The revision of the stream's last event.
    package var last: Revision
    package var events: [EventAtVersion] = []
}

/// A stored event, and its images at a version.
package struct EventAtVersion: Sendable {
    package var position: Position
    package var revision: Revision
    package var time: Timestamp
    /// The type's name as it was stored.
    package var type: String
    package var born: SchemaVersion
    /// None where a step hides the event, several where one has split it.
    package var images: [RecordedEvent] = []
    /// Why the event has no image at the version; nil where it has.
    package var error: EvstoreError?
}

/// The changes that events made to one row.
package struct RowHistory: Sendable {
    /// One change for each event, the newest first.
    package var steps: [RowChange]
    /// Whether all events before the newest were examined, so that the row's states are complete.
    package var isWhole: Bool
    /// Older events lie before this position; nil where there are none.
    package var rest: Position?
}

/// The rows that differ between two versions of a read model.
package struct BuiltDifferences: Sendable {
    package var differences: [RowDifference] = []
    package var compared = 0
    /// The key behind which to continue; nil at the end.
    package var next: String?
    package var a: QueryNote
    package var b: QueryNote
}

/// Takes the records that match a filter, as they were stored.
final class FilteredRecords: RecordVisitor {
    private let converter: EventConverter
    private let filter: StoredEventFilter
    private let limit, count: Int
    private var found = 0
    private(set) var examined = 0
    private(set) var last: Position?

    init(_ converter: EventConverter, _ filter: StoredEventFilter, limit: Int, count: Int) {
        (self.converter, self.filter, self.limit, self.count) = (converter, filter, limit, count)
    }

    var isFull: Bool { found >= limit || examined >= count }

    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? { stream }

    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        if try matches(record, reader) {
            try converter.read(record, reader, into: &events)
            found += 1
        }
        (examined, last) = (examined + 1, record.position)
    }

    private func matches(_ record: borrowing RecordView, _ reader: borrowing LogReader) throws -> Bool {
        if let born = filter.born, born != record.born { return false }
        if let type = filter.type, type != converter.store.log.name(ofType: record.type) { return false }
        guard let stream = filter.stream else { return true }
        return try converter.stream(of: record, reader).text.hasPrefix(stream)
    }
}
