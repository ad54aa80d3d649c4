/// An event as seen at one version: an owned copy, made once for each page that a reader receives.
public struct RecordedEvent: Hashable, Sendable {
    public var epoch: Epoch
    public var position: Position
    public var stream: StreamName
    public var revision: Revision
    /// The type's name at `version`.
    public var type: String
    /// JSON text in UTF-8, as seen at `version`; the stored bytes themselves if `version` equals `born`.
    public var payload: [UInt8]
    /// JSON text in UTF-8; empty if the event has none.
    public var metadata: [UInt8]
    public var id: EventID
    public var time: Timestamp
    /// The birth version, which never changes.
    public var born: SchemaVersion
    /// The version at which the event is shown.
    public var version: SchemaVersion
    /// The index of this part of a split event; 0 if the event is whole.
    public var part: Int

    /// The payload as text.
    public var json: String { String(decoding: payload, as: UTF8.self) }

    /// The checkpoint of this event: a subscription from it continues after this event.
    public var checkpoint: Checkpoint { Checkpoint(epoch: epoch, position: position) }

    public init(
        epoch: Epoch, position: Position, stream: StreamName, revision: Revision, type: String, payload: [UInt8],
        metadata: [UInt8], id: EventID, time: Timestamp, born: SchemaVersion, version: SchemaVersion, part: Int
    ) {
        (self.epoch, self.position, self.stream, self.revision) = (epoch, position, stream, revision)
        (self.type, self.payload, self.metadata, self.id) = (type, payload, metadata, id)
        (self.time, self.born, self.version, self.part) = (time, born, version, part)
    }
}
