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
    func decode(_ type: Int.Type) throws -> Int { try tape.integer(type, index) }
    func decode(_ type: Int8.Type) throws -> Int8 { try tape.integer(type, index) }
    func decode(_ type: Int16.Type) throws -> Int16 { try tape.integer(type, index) }
    func decode(_ type: Int32.Type) throws -> Int32 { try tape.integer(type, index) }
    func decode(_ type: Int64.Type) throws -> Int64 { try tape.integer(type, index) }
    func decode(_ type: Int128.Type) throws -> Int128 { try tape.integer(type, index) }
    func decode(_ type: UInt.Type) throws -> UInt { try tape.integer(type, index) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try tape.integer(type, index) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try tape.integer(type, index) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try tape.integer(type, index) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try tape.integer(type, index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try tape.integer(type, index) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try tape.read(type, at: index) }
}
