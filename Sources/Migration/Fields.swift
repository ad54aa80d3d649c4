internal import Bytes
internal import EventModel
internal import Hashing
internal import JSONText

/// A row of the store as a JSON object: written in order, read back with an error that names what is wrong.
struct Fields {
    private var members: [JSONValue.Member] = []

    init() {}

    /// - Throws: `EvstoreError.storeDamaged` where the bytes are no JSON object.
    init(_ bytes: [UInt8], of what: String) throws(EvstoreError) {
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes.lent, limits: JSONLimits()) } catch {
            throw .storeDamaged(path: what, reason: "a row is not JSON: \(error.reason)")
        }
        guard case .object(let members) = value else { throw .storeDamaged(path: what, reason: "a row is not an object") }
        self.members = members
    }

    /// No member where the value is no object.
    init(_ value: JSONValue) {
        if case .object(let members) = value { self.members = members }
    }

    var bytes: [UInt8] { Array(JSONValue.object(members).text.utf8) }
    var value: JSONValue { .object(members) }

    mutating func set(_ name: String, _ value: JSONValue) { members.append(JSONValue.Member(name: name, value: value)) }
    mutating func set(_ name: String, _ text: String?) { set(name, text.map(JSONValue.string) ?? .null) }
    mutating func set(_ name: String, _ number: UInt64?) { set(name, number.map { .number(String($0)) } ?? .null) }

    /// Gives a member another value.
    mutating func replace(_ name: String, _ value: JSONValue) {
        members = members.map { $0.name == name ? JSONValue.Member(name: name, value: value) : $0 }
    }

    subscript(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    func text(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    func number(_ name: String) -> UInt64? {
        if case .number(let text) = self[name] { UInt64(text) } else { nil }
    }

    func decimal(_ name: String) -> Double? {
        if case .number(let text) = self[name] { Double(text) } else { nil }
    }

    func version(_ name: String) -> SchemaVersion? { number(name).flatMap(UInt32.init(exactly:)).map { SchemaVersion($0) } }
}
