internal import Bytes

/// Decodes the elements of an array, in order.
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
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) { [tape] in try tape.float($0) } }
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
