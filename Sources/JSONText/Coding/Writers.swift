struct ValueWriter: Encoder, SingleValueEncodingContainer {
    let tree: JSONTree
    let index: Int

    var codingPath: [any CodingKey] { tree.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        tree.become(.object, index)
        return KeyedEncodingContainer(KeyedWriter(tree: tree, index: index))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        tree.become(.array, index)
        return UnkeyedWriter(tree: tree, index: index)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { tree.writeNull(at: index) }
    func encode(_ value: Bool) { tree.write(value, at: index) }
    func encode(_ value: String) { tree.write(value, at: index) }
    func encode(_ value: Double) throws { try tree.writeNumber(value, at: index) }
    func encode(_ value: Float) throws { try tree.writeNumber(value, at: index) }
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) { tree.writeInteger(value, at: index) }
    func encode(_ value: Int128) { tree.writeInteger(value, at: index) }
    func encode(_ value: UInt128) { tree.writeInteger(value, at: index) }
    func encode<T: Encodable>(_ value: T) throws { try tree.write(value, at: index) }
}

struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let tree: JSONTree
    let index: Int

    var codingPath: [any CodingKey] { tree.path(to: index) }

    private func member(_ key: any CodingKey) -> Int { tree.child(of: index, named: key.stringValue) }

    func encodeNil(forKey key: Key) { tree.writeNull(at: member(key)) }
    func encode(_ value: Bool, forKey key: Key) { tree.write(value, at: member(key)) }
    func encode(_ value: String, forKey key: Key) { tree.write(value, at: member(key)) }
    func encode(_ value: Double, forKey key: Key) throws { try tree.writeNumber(value, at: member(key)) }
    func encode(_ value: Float, forKey key: Key) throws { try tree.writeNumber(value, at: member(key)) }
    func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) { tree.writeInteger(value, at: member(key)) }
    func encode(_ value: Int128, forKey key: Key) { tree.writeInteger(value, at: member(key)) }
    func encode(_ value: UInt128, forKey key: Key) { tree.writeInteger(value, at: member(key)) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try tree.write(value, at: member(key)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        ValueWriter(tree: tree, index: member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        ValueWriter(tree: tree, index: member(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ValueWriter(tree: tree, index: member(JSONKey.super)) }

    func superEncoder(forKey key: Key) -> any Encoder { ValueWriter(tree: tree, index: member(key)) }
}

struct UnkeyedWriter: UnkeyedEncodingContainer {
    let tree: JSONTree
    let index: Int

    var codingPath: [any CodingKey] { tree.path(to: index) }
    var count: Int { tree.count(of: index) }

    private func element() -> Int { tree.child(of: index) }

    func encodeNil() { tree.writeNull(at: element()) }
    func encode(_ value: Bool) { tree.write(value, at: element()) }
    func encode(_ value: String) { tree.write(value, at: element()) }
    func encode(_ value: Double) throws { try tree.writeNumber(value, at: element()) }
    func encode(_ value: Float) throws { try tree.writeNumber(value, at: element()) }
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) { tree.writeInteger(value, at: element()) }
    func encode(_ value: Int128) { tree.writeInteger(value, at: element()) }
    func encode(_ value: UInt128) { tree.writeInteger(value, at: element()) }
    func encode<T: Encodable>(_ value: T) throws { try tree.write(value, at: element()) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        ValueWriter(tree: tree, index: element()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        ValueWriter(tree: tree, index: element()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ValueWriter(tree: tree, index: element()) }
}
