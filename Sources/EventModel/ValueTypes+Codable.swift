// `Codable` conformances of the value types, for payloads and rows: numbers are encoded as numbers, texts as texts.

extension Position: Codable {}
extension Revision: Codable {}
extension SchemaVersion: Codable {}
extension Epoch: Codable {}

/// Encoded as RFC 3339 text in UTC.
extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let moment = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is not an RFC 3339 timestamp")
        }
        self = moment
    }

    public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}

extension StreamName: Codable {
    public init(from decoder: any Decoder) throws { try self.init(String(from: decoder)) }
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

extension EventID: Codable {
    public init(from decoder: any Decoder) throws { try self.init(String(from: decoder)) }
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}
