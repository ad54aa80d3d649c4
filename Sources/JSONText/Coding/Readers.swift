internal import Bytes

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
    func decode(_ type: Float.Type) throws -> Float { try tape.floating(type, index) }
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try tape.integer(type, index) }
    func decode(_ type: Int128.Type) throws -> Int128 { try tape.integer(type, index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try tape.integer(type, index) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try tape.read(type, at: index) }
}

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
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try tape.floating(type, value(key)) }
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

struct UnkeyedReader: UnkeyedDecodingContainer {
    private let tape: JSONTape
    // At most three words in all, so that the existential container stores it inline.
    private let index: Int32
    private var next: Int32
    private var place: Int32 = 0

    init(_ tape: JSONTape, _ index: Int) throws {
        guard tape.nodes[index].kind == .array else { throw tape.mismatch([Any].self, index) }
        (self.tape, self.index, next) = (tape, Int32(index), Int32(index + 1))
    }

    var codingPath: [any CodingKey] { tape.path(to: Int(index)) }
    var count: Int? { Int(tape.nodes[Int(index)].extra) }
    var currentIndex: Int { Int(place) }
    var isAtEnd: Bool { next >= tape.nodes[Int(index)].next }

    /// Reads the next element and advances; does not advance if reading fails.
    private mutating func read<T>(_ type: T.Type, _ body: (Int) throws -> T) throws -> T {
        if isAtEnd { throw ended(type) }
        let value = try body(Int(next))
        next = tape.nodes[Int(next)].next
        place &+= 1
        return value
    }

    private func ended(_ type: Any.Type) -> DecodingError {
        .valueNotFound(type, .init(codingPath: codingPath + [JSONKey(intValue: currentIndex)], debugDescription: "the array has ended"))
    }

    mutating func decodeNil() throws -> Bool {
        if isAtEnd { throw ended(Any?.self) }
        guard tape.isNull(Int(next)) else { return false }
        return try read(Bool.self) { _ in true }
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) { [tape] in try tape.bool($0) } }
    mutating func decode(_ type: String.Type) throws -> String { try read(type) { [tape] in try tape.string($0) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try read(type) { [tape] in try tape.double($0) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) { [tape] in try tape.floating(type, $0) } }
    mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try integer(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try read(type) { [tape] in try tape.read(type, at: $0) } }

    private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        try read(type) { [tape] in try tape.integer(type, $0) }
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try read(KeyedDecodingContainer<Key>.self) { [tape] in KeyedDecodingContainer(try KeyedReader<Key>(tape, $0)) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read((any UnkeyedDecodingContainer).self) { [tape] in try UnkeyedReader(tape, $0) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try read((any Decoder).self) { [tape] in ValueReader(tape: tape, index: $0) }
    }
}
