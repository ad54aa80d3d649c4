public import EventModel

/// An event that a consumer has put aside.
public struct ParkedEvent: Hashable, Sendable {
    public var place: Checkpoint
    public var stream: StreamName
    public var type: String
    public var attempts: UInt64
    public var error: String
    public var time: Timestamp
    /// Whether the consumer tries the event again as soon as it can.
    public var isToRetry: Bool

    public var position: Position { place.position }

    package init(
        at place: Checkpoint, of stream: StreamName, type: String, attempts: UInt64, error: String, time: Timestamp = .now,
        isToRetry: Bool = false
    ) {
        (self.place, self.stream, self.type, self.attempts) = (place, stream, type, attempts)
        (self.error, self.time, self.isToRetry) = (error, time, isToRetry)
    }
}

/// A row of the table `notes`.
///
///     key     "consumer/", name of the consumer, "/parked/" or "/retry/", u64 position BE
///     value   JSON: epoch, stream, type, attempts, error, time
extension ParkedEvent {
    /// The beginning of the keys of parked events that are to be retried.
    package static func retryPrefix(_ consumer: String) -> [UInt8] { ConsumerRow.key(consumer) + Array("/retry/".utf8) }

    private static func parkedPrefix(_ consumer: String) -> [UInt8] { ConsumerRow.key(consumer) + Array("/parked/".utf8) }

    package func key(_ consumer: String) -> [UInt8] {
        let prefix = isToRetry ? Self.retryPrefix(consumer) : Self.parkedPrefix(consumer)
        return prefix + (0 ..< 8).map { UInt8(truncatingIfNeeded: position.rawValue >> UInt64(56 - 8 * $0)) }
    }

    package var value: [UInt8] {
        var fields = JSONRow()
        fields.set("epoch", UInt64(place.epoch.rawValue))
        fields.set("stream", stream.text)
        fields.set("type", type)
        fields.set("attempts", attempts)
        fields.set("error", error)
        fields.set("time", time.description)
        return fields.bytes
    }

    /// Parses the row of a parked event; nil where the key is of another kind.
    package init?(_ consumer: String, key: [UInt8], _ value: [UInt8]) throws(EvstoreError) {
        let prefixes = [Self.parkedPrefix(consumer), Self.retryPrefix(consumer)]
        guard let prefix = prefixes.first(where: { key.starts(with: $0) && key.count == $0.count + 8 }) else { return nil }
        let fields = try JSONRow(value, of: "consumers")
        guard let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)), let stream = fields.text("stream"),
            let type = fields.text("type"), let attempts = fields.number("attempts"), let error = fields.text("error"),
            let time = fields.text("time").flatMap({ Timestamp($0) }), attempts <= ConsumerRow.numberMax
        else { throw .storeDamaged(path: "consumers", reason: "an event that \(quoted(consumer)) has parked lacks a member") }
        let position = Position(key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        guard position <= .largest else {
            throw .storeDamaged(path: "consumers", reason: "\(quoted(consumer)) has parked an event at a position that no log has")
        }
        self.init(
            at: Checkpoint(epoch: Epoch(epoch), position: position), of: try StreamName(stream), type: type, attempts: attempts,
            error: error, time: time, isToRetry: prefix == prefixes[1])
    }

    /// Parses the parked events of a consumer among the rows, by position.
    package static func list(of consumer: String, _ rows: ConsumerRow.Rows) throws(EvstoreError) -> [ParkedEvent] {
        var found: [ParkedEvent] = []
        for row in rows { if let event = try ParkedEvent(consumer, key: row.key, row.value) { found.append(event) } }
        return found.sorted { $0.position < $1.position }
    }
}
