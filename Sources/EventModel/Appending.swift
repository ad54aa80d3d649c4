/// The state in which an append expects a stream, counted in stored events.
public enum Expectation: Hashable, Sendable {
    /// Any state.
    case any
    /// No event has been appended to the stream.
    case noStream
    /// At least one event has been appended to it.
    case exists
    /// The stream's last event has this revision.
    case revision(Revision)
}

/// An expectation about one stream, which the append itself need not write.
public struct StreamCondition: Hashable, Sendable {
    public var stream: StreamName
    public var expectation: Expectation
    /// The checkpoint of the read from which the expectation was derived. The append fails (`epochChanged`) if a cut has removed any event
    /// up to it since then, even if other events have brought the stream to the same revision. If nil, only the revision is compared.
    public var asOf: Checkpoint?

    public init(_ stream: StreamName, _ expectation: Expectation, asOf: Checkpoint? = nil) {
        (self.stream, self.expectation, self.asOf) = (stream, expectation, asOf)
    }
}

/// A fact to append: a type, a payload of JSON text, and optional values for everything else.
public struct NewEvent: Hashable, Sendable {
    public var stream: StreamName
    public var type: String
    /// JSON text in UTF-8 (RFC 8259), one object.
    public var payload: [UInt8]
    /// JSON text in UTF-8, one object; nil for no metadata.
    public var metadata: [UInt8]?
    /// Must be unique in the store. If nil, a UUIDv7 is generated.
    public var id: EventID?
    /// When the fact happened. If nil, the moment of the append.
    public var time: Timestamp?
    /// The birth version. If nil, the program's version or else the store's live version.
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
    /// The id of the append, which is the id of its first event.
    public var id: EventID
    public var epoch: Epoch
    /// Whether the append had been made before, so that nothing was added now.
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
