/// Decodes one value.
struct ValueReader: Decoder, SingleValueDecodingContainer {
    let tape: JSONTape
    let index: Int

    var codingPath: [any CodingKey] { tape.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try KeyedReader(tape, index))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try UnkeyedReader(tape, index) }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { tape.isNull(index) }
    func decode(_ type: Bool.Type) throws -> Bool { try tape.bool(index) }
    func decode(_ type: String.Type) throws -> String { try tape.string(index) }
    func decode(_ type: Double.Type) throws -> Double { try tape.double(index) }
    func decode(_ type: Float.Type) throws -> Float { try tape.float(index) }
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try tape.integer(type, index) }
    func decode(_ type: Int128.Type) throws -> Int128 { try tape.integer(type, index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try tape.integer(type, index) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try tape.read(type, at: index) }
}
