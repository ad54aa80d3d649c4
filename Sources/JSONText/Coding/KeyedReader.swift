internal import Bytes

/// Decodes the members of an object.
struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let tape: JSONTape
    private let index: Int

    init(_ tape: JSONTape, _ index: Int) throws {
        guard tape.nodes[index].kind == .object else { throw tape.mismatch([String: Any].self, index) }
        (self.tape, self.index) = (tape, index)
    }

    var codingPath: [any CodingKey] { tape.path(to: index) }

    var allKeys: [Key] {
        var keys: [Key] = []
        var at = index + 1
        while at < Int(tape.nodes[index].next) {
            if let name = tape.text(of: tape.nodes[at]), let key = Key(stringValue: name) { keys.append(key) }
            at = Int(tape.nodes[at + 1].next)
        }
        return keys
    }

    func contains(_ key: Key) -> Bool { tape.value(of: key.stringValue, in: index) != nil }

    private func value(_ key: any CodingKey) throws -> Int {
        if let value = tape.value(of: key.stringValue, in: index) { return value }
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no member \(key.stringValue)"))
    }

    func decodeNil(forKey key: Key) throws -> Bool { tape.isNull(try value(key)) }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try tape.bool(value(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try tape.string(value(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try tape.double(value(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try tape.float(value(key)) }
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try tape.integer(type, value(key)) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try tape.integer(type, value(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try tape.integer(type, value(key)) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try tape.read(type, at: value(key)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(try KeyedReader<Nested>(tape, value(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try UnkeyedReader(tape, value(key)) }

    func superDecoder() -> any Decoder { decoder(of: JSONKey.super) }

    func superDecoder(forKey key: Key) -> any Decoder { decoder(of: key) }

    private func decoder(of key: any CodingKey) -> ValueReader {
        ValueReader(tape: tape, index: tape.value(of: key.stringValue, in: index) ?? tape.absent)
    }
}
