/// Encodes the elements of an array.
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
