internal import Bytes
package import EventLog
package import EventModel
package import JSONText

extension [UInt8] {
    /// The last `count` bytes of a number, the most significant first: keys with it sort like the numbers.
    init(bigEndian number: UInt64, count: Int = 8) {
        self = (0 ..< count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (count - 1 - $0))) }
    }
}

/// A row of the store as a JSON object: written in order, read back with errors that name the invalid member.
package struct JSONRow {
    private var members: [JSONValue.Member] = []

    package init() {}

    /// - Throws: `EvstoreError.storeDamaged` where the bytes are not a JSON object.
    package init(_ bytes: [UInt8], of what: String) throws(EvstoreError) {
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes.lent, limits: JSONLimits()) } catch {
            throw .storeDamaged(path: what, reason: "a row is not JSON: \(error.reason)")
        }
        guard case .object(let members) = value else { throw .storeDamaged(path: what, reason: "a row is not an object") }
        if let number = Self.beyond(value) { throw .storeDamaged(path: what, reason: "a row has the number \(number.prefix(32))") }
        self.members = members
    }

    /// The first number in a row that is greater than any position, count or time span of a store; nil where there is none.
    private static func beyond(_ value: JSONValue) -> String? {
        switch value {
        case .number(let text): (Double(text) ?? .nan).magnitude <= Double(Position.largest.rawValue) ? nil : text
        case .array(let values): values.lazy.compactMap(beyond).first
        case .object(let members): members.lazy.compactMap { beyond($0.value) }.first
        case .null, .bool, .string: nil
        }
    }

    /// The members of an object; none where the value is not an object.
    package init(_ value: JSONValue) {
        if case .object(let members) = value { self.members = members }
    }

    package var bytes: [UInt8] { Array(JSONValue.object(members).text.utf8) }
    package var value: JSONValue { .object(members) }

    package mutating func set(_ name: String, _ value: JSONValue) { members.append(JSONValue.Member(name: name, value: value)) }
    package mutating func set(_ name: String, _ text: String?) { set(name, text.map(JSONValue.string) ?? .null) }
    package mutating func set(_ name: String, _ number: UInt64?) { set(name, number.map { .number(String($0)) } ?? .null) }

    package mutating func replace(_ name: String, _ value: JSONValue) {
        members = members.map { $0.name == name ? JSONValue.Member(name: name, value: value) : $0 }
    }

    package subscript(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    package func text(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    package func number(_ name: String) -> UInt64? {
        if case .number(let text) = self[name] { UInt64(text) } else { nil }
    }

    /// The whole numbers of a list; those that are none are left out.
    package func numbers(_ name: String) -> [UInt64] {
        guard case .array(let values)? = self[name] else { return [] }
        return values.compactMap { if case .number(let text) = $0 { UInt64(text) } else { nil } }
    }

    /// The texts of a list, without what is none; nil where there is no list.
    package func texts(_ name: String) -> [String]? {
        guard case .array(let values)? = self[name] else { return nil }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// A span of time that is stored as seconds.
    package func duration(_ name: String) -> Duration? {
        if case .number(let text) = self[name] { Double(text).map { .bounded(seconds: $0) } } else { nil }
    }

    package func version(_ name: String) -> SchemaVersion? { number(name).flatMap(UInt32.init(exactly:)).map { SchemaVersion($0) } }
}

/// Checks rows of the catalogues by parsing them as their readers do: a restore refuses, and `verify` reports, a row that nobody could use.
package enum CatalogueRows {
    /// - Parameter store: the path that an error names.
    /// - Throws: `EvstoreError` where no store could have written the row.
    package static func check(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8], in store: String) throws(EvstoreError) {
        switch catalogue {
        case .journal: _ = try JournalRow(key: key, value: value)
        case .snapshots: _ = try SnapshotReport(name: String(decoding: key, as: UTF8.self), row: value)
        case .notes: if try AcceptedEvent(key: key, value) == nil { try ConsumerRow.check(key, value) }
        // Registered schemas are read as a whole, with a digest over them (`RegisteredRows`).
        case .schemas, .definitions: return
        case .imports:
            // The rest of the row belongs to the importer.
            guard value.count >= 8, Position(value.lent.load(UInt64.self, at: 0)) <= .largest else {
                throw .storeDamaged(path: store, reason: "a mark of an import names no position of a log")
            }
        }
    }
}
