/// Encodes the members of an object.
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
