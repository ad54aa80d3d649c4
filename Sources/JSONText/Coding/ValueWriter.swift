/// Encodes one value.
struct ValueWriter: Encoder, SingleValueEncodingContainer {
    let tree: JSONTree
    let index: Int

    var codingPath: [any CodingKey] { tree.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        tree.becomeObject(index)
        return KeyedEncodingContainer(KeyedWriter(tree: tree, index: index))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        tree.becomeArray(index)
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
