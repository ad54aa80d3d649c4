internal import Bytes
package import EventLog
public import EventModel
internal import JSONText

/// An event without an image at a version, of which a person has said that queries leave it out there.
///
/// A row of the table `notes`:
///
///     key     "accepted/", u32 version BE, u64 position BE
///     value   JSON: id, type, because, by, time
///
/// It holds for the event with the id alone: after a cut another one may have the position.
public struct AcceptedEvent: Hashable, Sendable {
    public var version: SchemaVersion
    public var position: Position
    public var id: EventID
    /// The type as it was stored.
    public var type: String
    public var because: String
    /// Who said so.
    public var by: String
    public var time: Timestamp

    package init(_ event: RecordedEvent, at version: SchemaVersion, because: String) {
        (self.version, position, id, type) = (version, event.position, event.id, event.type)
        (self.because, by, time) = (because, Journal.caller, .now)
    }

    // MARK: Rows

    private static let prefix = Array("accepted/".utf8)

    private static func prefix(_ version: SchemaVersion) -> [UInt8] {
        prefix + [UInt8](bigEndian: UInt64(version.rawValue), count: 4)
    }

    package static func key(_ position: Position, at version: SchemaVersion) -> [UInt8] {
        prefix(version) + [UInt8](bigEndian: position.rawValue)
    }

    package var key: [UInt8] { Self.key(position, at: version) }

    package var value: [UInt8] {
        var fields = JSONRow()
        fields.set("id", id.text)
        fields.set("type", type)
        fields.set("because", because)
        fields.set("by", by)
        fields.set("time", time.description)
        return fields.bytes
    }

    /// Parses a row; nil where the key is of another kind.
    /// - Throws: `EvstoreError.storeDamaged` where no store could have written the row.
    package init?(key: [UInt8], _ value: [UInt8]) throws(EvstoreError) {
        guard key.starts(with: Self.prefix) else { return nil }
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        let fields = try JSONRow(value, of: "accepted")
        let rest = key.dropFirst(Self.prefix.count)
        guard rest.count == 12, let id = fields.text("id"), let type = fields.text("type"), let because = fields.text("because"),
            let by = fields.text("by"), let time = fields.text("time").flatMap({ Timestamp($0) })
        else { throw .storeDamaged(path: "accepted", reason: "an accepted event lacks a member") }
        version = SchemaVersion(UInt32(truncatingIfNeeded: number(rest.prefix(4))))
        position = Position(number(rest.suffix(8)))
        guard position <= .largest, version <= .largest else {
            throw .storeDamaged(path: "accepted", reason: "an event is accepted at a place that no log has")
        }
        (self.id, self.type, self.because, self.by, self.time) = (EventID(unchecked: id), type, because, by, time)
    }

    /// The event that was accepted at a position; nil where none was.
    package static func at(_ position: Position, _ version: SchemaVersion, in reader: borrowing LogReader) throws -> AcceptedEvent? {
        let key = key(position, at: version)
        return try reader.get(.notes, key).flatMap { value throws in try AcceptedEvent(key: key, value) }
    }

    /// Those of a version, by position.
    package static func all(at version: SchemaVersion, in reader: borrowing LogReader) throws -> [AcceptedEvent] {
        try reader.rows(.notes, prefix: prefix(version)).compactMap { row throws in try AcceptedEvent(key: row.key, row.value) }
    }

    /// Whether a row of a damaged store is one that a new store can take.
    package static func isSalvaged(_ row: (key: [UInt8], value: [UInt8]), through end: Checkpoint) -> Bool {
        do { return try AcceptedEvent(key: row.key, row.value).map { $0.position <= end.position } ?? false } catch { return false }
    }
}
