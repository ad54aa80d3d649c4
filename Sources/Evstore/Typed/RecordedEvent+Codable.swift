internal import Bytes
public import EventModel
internal import FoundationEssentials
internal import JSONText

/// Encodes an event as the members of an event line. Payload and metadata are JSON values, whose meaning is kept, though a number may be
/// written in another form.
extension RecordedEvent: Codable {
    private enum CodingKeys: String, CodingKey {
        case stream, type, payload, metadata, id, time, version, position, revision, born, part, epoch
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func json(_ key: CodingKeys) throws -> [UInt8] {
            Array((try members.decodeIfPresent(CodableJSON.self, forKey: key)?.value.text ?? "").utf8)
        }
        guard members.contains(.payload) else {
            throw DecodingError.keyNotFound(
                CodingKeys.payload, .init(codingPath: decoder.codingPath, debugDescription: "an event has a payload"))
        }
        self.init(
            epoch: try members.decodeIfPresent(Epoch.self, forKey: .epoch) ?? .first,
            position: try members.decode(Position.self, forKey: .position), stream: try members.decode(StreamName.self, forKey: .stream),
            revision: try members.decode(Revision.self, forKey: .revision), type: try members.decode(String.self, forKey: .type),
            payload: try json(.payload), metadata: try json(.metadata), id: try members.decode(EventID.self, forKey: .id),
            time: try members.decode(Timestamp.self, forKey: .time), born: try members.decode(SchemaVersion.self, forKey: .born),
            version: try members.decode(SchemaVersion.self, forKey: .version),
            part: try members.decodeIfPresent(Int.self, forKey: .part) ?? 0)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(stream, forKey: .stream)
        try members.encode(type, forKey: .type)
        try members.encode(CodableJSON(payload), forKey: .payload)
        if !metadata.isEmpty { try members.encode(CodableJSON(metadata), forKey: .metadata) }
        try members.encode(id, forKey: .id)
        try members.encode(time, forKey: .time)
        try members.encode(version, forKey: .version)
        try members.encode(position, forKey: .position)
        try members.encode(revision, forKey: .revision)
        try members.encode(born, forKey: .born)
        if part > 0 { try members.encode(part, forKey: .part) }
        try members.encode(epoch, forKey: .epoch)
    }
}

/// A JSON value for any encoder and decoder: numbers as `Int64`, otherwise as `Decimal`, and beyond its digits as `Double`.
private struct CodableJSON: Codable {
    var value: JSONValue

    init(_ text: [UInt8]) throws { value = try JSONValue(parsing: text.lent) }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(_ value: JSONValue) { self.value = value }

    init(from decoder: any Decoder) throws {
        if let members = Self.read({ try decoder.container(keyedBy: Name.self) }) {
            value = .object(
                try members.allKeys.map { .init(name: $0.stringValue, value: try members.decode(CodableJSON.self, forKey: $0).value) })
        } else if var elements = Self.read({ try decoder.unkeyedContainer() }) {
            var list: [JSONValue] = []
            while !elements.isAtEnd { list.append(try elements.decode(CodableJSON.self).value) }
            value = .array(list)
        } else {
            value = try Self.scalar(decoder.singleValueContainer())
        }
    }

    /// Returns nil where the value has another kind, which a decoder reports only by an error.
    private static func read<T>(_ body: () throws -> T) -> T? {
        do { return try body() } catch { return nil }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let flag = read({ try container.decode(Bool.self) }) { return .bool(flag) }
        if let number = read({ try container.decode(Int64.self) }) { return .number("\(number)") }
        if let number = read({ try container.decode(Decimal.self) }), !number.isNaN { return .number(number.description) }
        return .string(try container.decode(String.self))
    }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .object(let list):
            var members = encoder.container(keyedBy: Name.self)
            for member in list { try members.encode(CodableJSON(member.value), forKey: Name(stringValue: member.name)) }
        case .array(let list):
            var elements = encoder.unkeyedContainer()
            for element in list { try elements.encode(CodableJSON(element)) }
        case .null, .bool, .number, .string:
            var container = encoder.singleValueContainer()
            switch value {
            case .bool(let flag): try container.encode(flag)
            case .number(let text):
                if let number = Int64(text) {
                    try container.encode(number)
                } else if let number = Decimal(string: text), !number.isNaN {
                    try container.encode(number)
                } else {
                    try container.encode(Double(text) ?? 0)
                }
            case .string(let text): try container.encode(text)
            default: try container.encodeNil()
            }
        }
    }
}
