/// What an append expects of a stream, counted in stored events.
public enum Expectation: Hashable, Sendable {
    /// Whatever is there.
    case any
    /// No event has been appended to the stream.
    case noStream
    /// At least one event has been appended to it.
    case exists
    /// The stream's last event has this revision.
    case revision(Revision)
}

/// An expectation of one stream, which the append may also not write.
public struct StreamCondition: Hashable, Sendable {
    public var stream: StreamName
    public var expectation: Expectation
    /// Up to where the log was read that the expectation comes from: the append fails (`epochChanged`) where a cut has taken any of that off,
    /// also where other events have brought the stream to the same revision since. Nil compares the revision alone.
    public var asOf: Checkpoint?

    public init(_ stream: StreamName, _ expectation: Expectation, asOf: Checkpoint? = nil) {
        (self.stream, self.expectation, self.asOf) = (stream, expectation, asOf)
    }
}

/// A fact to append: a type, a payload of JSON text, and what the caller wants to fix of the rest.
public struct NewEvent: Hashable, Sendable {
    public var stream: StreamName
    public var type: String
    /// JSON text in UTF-8 (RFC 8259), one object.
    public var payload: [UInt8]
    /// JSON text in UTF-8, one object; none where nil.
    public var metadata: [UInt8]?
    /// Unique in the store where given; a UUIDv7 is made where nil.
    public var id: EventID?
    /// When it happened; the moment of the append where nil.
    public var time: Timestamp?
    /// The version it is born at; the store's live version, or the program's, where nil.
    public var version: SchemaVersion?

    public init(
        stream: StreamName, type: String, payload: [UInt8], metadata: [UInt8]? = nil, id: EventID? = nil,
        time: Timestamp? = nil, version: SchemaVersion? = nil
    ) {
        (self.stream, self.type, self.payload, self.metadata) = (stream, type, payload, metadata)
        (self.id, self.time, self.version) = (id, time, version)
    }
}

/// What a durable append returns.
public struct AppendReceipt: Hashable, Sendable {
    /// The positions of the append's events, first to last.
    public var positions: ClosedRange<UInt64>
    /// The stream of the last event and that event's revision.
    public var stream: StreamName
    public var revision: Revision
    /// The id of the append: its first event's.
    public var id: EventID
    public var epoch: Epoch
    /// True where the append had been made before and nothing was added now.
    public var duplicate: Bool

    public var position: Position { Position(positions.upperBound) }

    public init(
        positions: ClosedRange<UInt64>, stream: StreamName, revision: Revision, id: EventID, epoch: Epoch,
        duplicate: Bool
    ) {
        (self.positions, self.stream, self.revision, self.id) = (positions, stream, revision, id)
        (self.epoch, self.duplicate) = (epoch, duplicate)
    }
}
