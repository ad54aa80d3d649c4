internal import EventLog
internal import EventModel
package import Projections

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

    init(a: QueryNote, b: QueryNote) { (self.a, self.b) = (a, b) }
}

/// Takes the records that match a filter, as they were stored.
final class FilteredRecords: RecordVisitor {
    private let converter: EventConverter
    private let filter: StoredEventFilter
    private let limit, count: Int
    private var found = 0
    /// The number of records that were examined, and the last of them.
    private(set) var examined = 0
    private(set) var last: Position?

    init(_ converter: EventConverter, _ filter: StoredEventFilter, limit: Int, count: Int) {
        (self.converter, self.filter, self.limit, self.count) = (converter, filter, limit, count)
    }

    var storedTypes: Set<Name>? { nil }
    var isFull: Bool { found >= limit || examined >= count }

    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? { stream }

    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        (examined, last) = (examined + 1, record.position)
        if let born = filter.born, born != record.born { return }
        if let type = filter.type, type != converter.store.log.name(ofType: record.type) { return }
        if let stream = filter.stream, try !converter.stream(of: record, reader).text.hasPrefix(stream) { return }
        try converter.read(record, reader, into: &events)
        found += 1
    }
}
