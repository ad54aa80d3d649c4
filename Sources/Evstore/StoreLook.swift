internal import EventLog
internal import EventModel
package import Projections

/// Which stored events are looked for; nil asks for any.
package struct StoredFilter: Sendable {
    /// As it was stored.
    package var type: String?
    package var born: SchemaVersion?
    /// What the stream's name begins with, as it was stored.
    package var stream: String?

    package init(type: String? = nil, born: SchemaVersion? = nil, stream: String? = nil) {
        (self.type, self.born, self.stream) = (type, born, stream)
    }
}

/// Stored events that were looked for, in the direction of the look.
package struct StoredPage: Sendable {
    package var events: [RecordedEvent] = []
    /// How many events were looked at, and which was the last.
    package var looked = 0
    package var last: Position?
}

/// A part of a stream as a version sees it.
package struct SeenStream: Sendable {
    /// The name under which the log holds it.
    package var stored: StreamName
    /// The revision of its last event.
    package var last: Revision
    package var events: [SeenEvent] = []
}

/// A stored event, and what a version sees of it.
package struct SeenEvent: Sendable {
    package var position: Position
    package var revision: Revision
    package var time: Timestamp
    /// As it was stored.
    package var type: String
    package var born: SchemaVersion
    /// None where a step hides it, several where one has split it.
    package var images: [RecordedEvent] = []
    /// Why the version does not see it; nil where it does.
    package var error: EvstoreError?
}

/// What events made of one row.
package struct RowHistory: Sendable {
    /// One for each event, the newest first.
    package var steps: [RowChange]
    /// Whether all events before the newest were looked at, so that the states of the row are its own.
    package var isWhole: Bool
    /// Where to look for older events: before this position; nil where there are none.
    package var rest: Position?
}

/// Rows that differ between two versions of a read model.
package struct StandingDifferences: Sendable {
    package var differences: [RowDifference] = []
    package var compared = 0
    /// The key behind which to go on; nil at the end.
    package var next: String?
    package var a: QueryNote
    package var b: QueryNote

    init(a: QueryNote, b: QueryNote) { (self.a, self.b) = (a, b) }
}

/// Takes the records that a filter leaves, as they were stored.
final class FilteredRecords: RecordTaker {
    private let converter: EventConverter
    private let filter: StoredFilter
    private let limit, count: Int
    private var found = 0
    /// How many records were looked at, and which was the last.
    private(set) var looked = 0
    private(set) var last: Position?

    init(_ converter: EventConverter, _ filter: StoredFilter, limit: Int, count: Int) {
        (self.converter, self.filter, self.limit, self.count) = (converter, filter, limit, count)
    }

    var storedTypes: Set<Name>? { nil }
    var isFull: Bool { found >= limit || looked >= count }

    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? { stream }

    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        (looked, last) = (looked + 1, record.position)
        if let born = filter.born, born != record.born { return }
        if let type = filter.type, type != converter.store.log.name(ofType: record.type) { return }
        if let stream = filter.stream, try !converter.stream(of: record, reader).text.hasPrefix(stream) { return }
        try converter.read(record, reader, into: &events)
        found += 1
    }
}
