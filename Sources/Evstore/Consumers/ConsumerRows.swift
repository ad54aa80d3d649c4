internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration

/// What a store keeps of a consumer: rows of the table `notes`.
///
///     "consumer/" name                       JSON: number, epoch, position, version, types, handled, attempts, error
///     "consumer/" name "/" u64 position BE   JSON of a parked event: stream, type, attempts, error, time, retry
struct ConsumerRow: Hashable, Sendable {
    var name: String
    /// Decides the lock that its holder has.
    var number: Int
    var place: Checkpoint
    var version: SchemaVersion
    var types: [String]?
    var handled: UInt64 = 0
    /// How often the event behind the place was tried, where it failed; and why.
    var attempts: UInt64 = 0
    var error: String?

    private static let prefix = Array("consumer/".utf8)

    /// - Throws: `EvstoreError.usage` for a text that is no name.
    static func checkName(_ name: String) throws(EvstoreError) {
        let isName = (1 ... 100).contains(name.utf8.count) && name.utf8.allSatisfy { StreamName.allows($0) && $0 != UInt8(ascii: "/") }
        if !isName {
            throw .usage(
                "\(quoted(name)) is no name for a consumer: 1 to 100 bytes of printable ASCII without space, quotes, braces and slashes")
        }
    }

    static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    var key: [UInt8] { Self.key(name) }

    var bytes: [UInt8] {
        var fields = Fields()
        fields.set("number", UInt64(number))
        fields.set("epoch", UInt64(place.epoch.rawValue))
        fields.set("position", place.position.rawValue)
        fields.set("version", UInt64(version.rawValue))
        fields.set("types", types.map { .array($0.map(JSONValue.string)) } ?? .null)
        fields.set("handled", handled)
        fields.set("attempts", attempts)
        fields.set("error", error)
        return fields.bytes
    }

    init(name: String, number: Int, place: Checkpoint, version: SchemaVersion, types: [String]?) {
        (self.name, self.number, self.place, self.version, self.types) = (name, number, place, version, types)
    }

    init(name: String, _ bytes: [UInt8]) throws(EvstoreError) {
        let fields = try Fields(bytes, of: "consumers")
        guard let number = fields.number("number").flatMap(Int.init(exactly:)),
            let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:)),
            let position = fields.number("position"), let version = fields.version("version"), let handled = fields.number("handled"),
            let attempts = fields.number("attempts")
        else { throw .storeDamaged(path: "consumers", reason: "\(quoted(name)) lacks a member") }
        self.init(
            name: name, number: number, place: Checkpoint(epoch: Epoch(epoch), position: Position(position)), version: version, types: nil)
        if case .array(let values)? = fields["types"] { types = values.compactMap { if case .string(let type) = $0 { type } else { nil } } }
        (self.handled, self.attempts, error) = (handled, attempts, fields.text("error"))
    }

    /// All of them, by name, among the rows of the table.
    static func all(_ rows: [(key: [UInt8], value: [UInt8])]) throws(EvstoreError) -> [ConsumerRow] {
        var found: [ConsumerRow] = []
        for row in rows where row.key.starts(with: prefix) {
            let rest = row.key.dropFirst(prefix.count)
            // The others are parked events.
            if rest.contains(UInt8(ascii: "/")) { continue }
            found.append(try ConsumerRow(name: String(decoding: rest, as: UTF8.self), row.value))
        }
        return found
    }

    static var tablePrefix: [UInt8] { prefix }
}

extension ParkedEvent {
    static func prefix(_ consumer: String) -> [UInt8] { ConsumerRow.key(consumer) + [UInt8(ascii: "/")] }

    static func key(_ consumer: String, _ position: Position) -> [UInt8] {
        prefix(consumer) + (0 ..< 8).map { UInt8(truncatingIfNeeded: position.rawValue >> UInt64(56 - 8 * $0)) }
    }

    var bytes: [UInt8] {
        var fields = Fields()
        fields.set("stream", stream.text)
        fields.set("type", type)
        fields.set("attempts", attempts)
        fields.set("error", error)
        fields.set("time", time.description)
        fields.set("retry", .bool(isToRetry))
        return fields.bytes
    }

    init(_ consumer: String, key: [UInt8], _ bytes: [UInt8]) throws(EvstoreError) {
        let fields = try Fields(bytes, of: "consumers")
        let number = key.dropFirst(Self.prefix(consumer).count)
        guard number.count == 8, let stream = fields.text("stream"), let type = fields.text("type"),
            let attempts = fields.number("attempts"),
            let error = fields.text("error"), let time = fields.text("time").flatMap({ Timestamp($0) })
        else { throw .storeDamaged(path: "consumers", reason: "an event that \(quoted(consumer)) has parked lacks a member") }
        position = Position(number.reduce(0) { $0 << 8 | UInt64($1) })
        (self.stream, self.type, self.attempts, self.error, self.time) = (try StreamName(stream), type, attempts, error, time)
        isToRetry = fields["retry"] == .bool(true)
    }
}
