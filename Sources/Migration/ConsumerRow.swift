internal import Bytes
package import EventLog
public import EventModel
internal import JSONText

/// The row of a consumer, a name that handles each event once, in the table `notes`.
///
///     key     "consumer/", name
///     value   JSON: number, epoch, position, version, types, query, handled, attempts, failing, failingEpoch, error, ahead, aheadEpochs;
///             query only where types don't say all: a list of objects with types and tags (`EventQuery.Item`)
package struct ConsumerRow: Hashable, Sendable {
    package var name: String
    /// The number of the lock that its holder has.
    package var number: Int
    package var place: Checkpoint
    package var version: SchemaVersion
    /// Nil where it takes all events.
    package var query: EventQuery?
    package var handled: UInt64 = 0
    /// The event that failed last, how often it was tried, and why it failed; nil where none has failed since the place moved past it.
    package var failing: Checkpoint?
    package var attempts: UInt64 = 0
    package var error: String?
    /// Events behind the place that are already done: handled concurrently with earlier ones, or parked and given up. Each has the epoch of
    /// its append: after a cut, another event may have its position.
    package var ahead: [Checkpoint] = []

    /// More than any store has: a row with a greater number or more attempts is forged.
    static let numberMax = 1 << 20

    package init(name: String, number: Int, place: Checkpoint, version: SchemaVersion, query: EventQuery?) {
        (self.name, self.number, self.place, self.version, self.query) = (name, number, place, version, query)
    }

    /// - Throws: `EvstoreError.usage` where the text is not a valid name, also for a snapshot.
    package static func checkName(_ name: String, of what: String = "consumer") throws(EvstoreError) {
        let isName = (1 ... 100).contains(name.utf8.count) && name.utf8.allSatisfy { StreamName.allows($0) && $0 != UInt8(ascii: "/") }
        if !isName {
            throw .usage(
                "\(quoted(name)) is no name for a \(what): 1 to 100 bytes of printable ASCII without space, quotes, braces and slashes")
        }
    }

    /// Moves the place; forgets a failure and handled events before it.
    package mutating func move(to place: Checkpoint) {
        self.place = place
        ahead.removeAll { $0.position <= place.position }
        if let failing, failing.position <= place.position { (self.failing, attempts, error) = (nil, 0, nil) }
    }

    /// Adds events that are done, as far as they are behind the place.
    package mutating func add(ahead events: [Checkpoint]) {
        let all = Set(ahead + events).filter { $0.position > place.position }
        ahead = all.sorted { ($0.position, $0.epoch) < ($1.position, $1.epoch) }
    }

    // MARK: Rows

    package typealias Rows = [(key: [UInt8], value: [UInt8])]

    fileprivate static let prefix = Array("consumer/".utf8)

    package static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    package var key: [UInt8] { Self.key(name) }

    package var value: [UInt8] { value(withEpochs: true) }

    /// - Parameter withEpochs: false for what older programs wrote.
    private func value(withEpochs: Bool) -> [UInt8] {
        var fields = JSONRow()
        fields.set("number", UInt64(number))
        fields.set("epoch", UInt64(place.epoch.rawValue))
        fields.set("position", place.position.rawValue)
        fields.set("version", UInt64(version.rawValue))
        let types = query.flatMap(\.typesAlone)
        fields.set("types", types.map { .array($0.map(JSONValue.string)) } ?? .null)
        if types == nil, let items = query?.items { fields.set("query", .array(items.map(\.json))) }
        fields.set("handled", handled)
        fields.set("attempts", attempts)
        fields.set("failing", failing?.position.rawValue)
        if withEpochs { fields.set("failingEpoch", (failing?.epoch.rawValue).map(UInt64.init)) }
        fields.set("error", error)
        fields.set("ahead", .array(ahead.map { .number("\($0.position)") }))
        if withEpochs { fields.set("aheadEpochs", .array(ahead.map { .number("\($0.epoch)") })) }
        return fields.bytes
    }

    package init(name: String, _ value: [UInt8]) throws(EvstoreError) {
        let fields = try JSONRow(value, of: "consumers")
        guard let number = fields.number("number").flatMap(Int.init(exactly:)),
            let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)),
            let position = fields.number("position"), let version = fields.version("version"), let handled = fields.number("handled"),
            let attempts = fields.number("attempts"), number <= Self.numberMax, attempts <= Self.numberMax
        else { throw .storeDamaged(path: "consumers", reason: "\(quoted(name)) lacks a member") }
        self.init(
            name: name, number: number, place: Checkpoint(epoch: Epoch(epoch), position: Position(position)), version: version, query: nil)
        if let types = fields.texts("types") { query = .types(types) }
        if case .array(let items)? = fields["query"] { query = EventQuery(items.map { EventQuery.Item($0) }) }
        // A row of an older program has no epochs: what it noted was in the log as of its place.
        func checkpoint(_ position: UInt64, _ noted: UInt64?) -> Checkpoint {
            Checkpoint(epoch: Epoch(noted.flatMap(UInt32.init(exactly:)) ?? epoch), position: Position(position))
        }
        let (ahead, epochs) = (fields.numbers("ahead"), fields.numbers("aheadEpochs"))
        self.ahead = ahead.enumerated().map { checkpoint($1, epochs.count == ahead.count ? epochs[$0] : nil) }
        (self.handled, self.attempts, error) = (handled, attempts, fields.text("error"))
        failing = fields.number("failing").map { checkpoint($0, fields.number("failingEpoch")) }
    }

    package static func named(_ name: String, in reader: borrowing LogReader) throws -> ConsumerRow? {
        try reader.get(.notes, key(name)).map { value throws in try ConsumerRow(name: name, value) }
    }

    /// The rows of all consumers, by name, without those of their parked events, of which there may be as many as events.
    package static func all(in reader: borrowing LogReader) throws -> [ConsumerRow] {
        try all { try reader.rows(.notes, prefix: prefix, from: $0, limit: 1).first }
    }

    /// Reads these rows within a transaction that writes.
    package static func all(in update: borrowing LogUpdate) throws -> [ConsumerRow] {
        try all { try update.rows(.notes, prefix: prefix, from: $0, limit: 1).first }
    }

    /// - Parameter row: returns the first row from a key on.
    private static func all(_ row: (_ start: [UInt8]) throws -> Rows.Element?) throws -> [ConsumerRow] {
        var (found, start): ([ConsumerRow], [UInt8]) = ([], prefix)
        while let row = try row(start) {
            if case (let name, false)? = owner(of: row.key) { found.append(try ConsumerRow(name: name, row.value)) }
            // Further rows follow behind a consumer's own row, or behind all events that it has parked.
            let slash = row.key[prefix.count...].firstIndex(of: UInt8(ascii: "/"))
            start = slash.map { row.key[..<$0] + [UInt8(ascii: "/") + 1] } ?? row.key + [0]
        }
        return found
    }

    /// Checks a row of a consumer or of a parked event; ignores other rows of the table.
    /// - Throws: `EvstoreError.storeDamaged` where no store could have written the row.
    package static func check(_ key: [UInt8], _ value: [UInt8]) throws(EvstoreError) {
        guard let (name, isParked) = owner(of: key) else { return }
        if isParked { _ = try ParkedEvent(name, key: key, value) } else { _ = try ConsumerRow(name: name, value) }
    }

    /// The consumer that a row belongs to, and whether the row is that of an event that it has parked; nil for any other key.
    private static func owner(of key: [UInt8]) -> (name: String, isParked: Bool)? {
        guard key.starts(with: prefix) else { return nil }
        let rest = key.dropFirst(prefix.count)
        let name = rest.prefix { $0 != UInt8(ascii: "/") }
        return String(utf8: Array(name).lent).map { ($0, name.count < rest.count) }
    }

    /// Converts a row of a damaged store for a new one, whose log may end earlier. Nil where this program could not have written it as a
    /// consumer's or a parked event's row.
    package static func salvaged(_ row: Rows.Element, through end: Checkpoint) -> Rows.Element? {
        do {
            guard let (name, isParked) = owner(of: row.key) else { return nil }
            if isParked {
                guard let parked = try ParkedEvent(name, key: row.key, row.value), parked.position <= end.position else { return nil }
                return row
            }
            var consumer = try ConsumerRow(name: name, row.value)
            guard consumer.value == row.value || consumer.value(withEpochs: false) == row.value else { return nil }
            if consumer.place.position > end.position { consumer.place = end }
            consumer.ahead.removeAll { $0.position > end.position }
            return (row.key, consumer.value)
        } catch { return nil }
    }
}

extension EventQuery.Item {
    fileprivate var json: JSONValue {
        let lists = [("types", types), ("tags", tags)].map { JSONValue.Member(name: $0, value: .array($1.map(JSONValue.string))) }
        return .object(lists)
    }

    fileprivate init(_ json: JSONValue) {
        let row = JSONRow(json)
        self.init(types: row.texts("types") ?? [], tags: row.texts("tags") ?? [])
    }
}

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
    private static let (parked, retried) = ("parked/", "retry/")

    /// The beginning of the keys of all events that a consumer has parked, or of those of one kind.
    private static func prefix(_ consumer: String, _ kind: String = "") -> [UInt8] { ConsumerRow.key(consumer) + Array("/\(kind)".utf8) }

    package func key(_ consumer: String) -> [UInt8] {
        Self.prefix(consumer, isToRetry ? Self.retried : Self.parked)
            + [UInt8](bigEndian: position.rawValue)
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
        let prefixes = [Self.prefix(consumer, Self.parked), Self.prefix(consumer, Self.retried)]
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

    /// The events that a consumer has parked, by position.
    /// - Parameter onlyToRetry: whether only those are wanted that are to be retried.
    package static func all(
        of consumer: String, onlyToRetry: Bool = false, in reader: borrowing LogReader
    ) throws -> [ParkedEvent] {
        try list(of: consumer, reader.rows(.notes, prefix: prefix(consumer, onlyToRetry ? retried : "")))
    }

    package static func all(of consumer: String, in update: borrowing LogUpdate) throws -> [ParkedEvent] {
        try list(of: consumer, update.rows(.notes, prefix: prefix(consumer)))
    }

    /// How many events a consumer has parked; holds none of them in memory.
    package static func count(of consumer: String, in reader: borrowing LogReader) throws -> UInt64 {
        try reader.count(.notes, prefix: prefix(consumer))
    }

    private static func list(of consumer: String, _ rows: ConsumerRow.Rows) throws(EvstoreError) -> [ParkedEvent] {
        var found: [ParkedEvent] = []
        for row in rows { if let event = try ParkedEvent(consumer, key: row.key, row.value) { found.append(event) } }
        return found.sorted { $0.position < $1.position }
    }
}
