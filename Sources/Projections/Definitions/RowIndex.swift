internal import Bytes
internal import EventModel
internal import Hashing
package import JSONText
internal import SchemaEvolution

/// An order of rows by some of their members, in addition to their order by key; declared in `indexes` of a projection.
package struct RowIndex: Hashable, Sendable {
    package let name: String
    /// The members that determine the order, most significant first.
    package let members: [JSONPointer]

    /// The maximum number of indexes of a read model, and of members of an index.
    static let (indexesMax, membersMax) = (16, 8)
}

/// The indexes of one read model, and the entries that a row has in them.
///
/// An entry's key in the table `indexes` is
///
///     0          u8   number of the index, in the order of the names' bytes
///     1               the members' values (`OrderedValue`), at most 300 bytes
///     …               the row's key; if it does not fit, its first bytes and 16 bytes of a hash of values and key
///
/// Its text is empty, unless values or key are truncated; then it is: size of the values (u32), the values, the row's key.
package struct RowIndexes: Sendable {
    package let list: [RowIndex]
    /// Finds all members of all indexes; `picks` contains, for each index, which of them it uses, in its order.
    private let picker: PointerPicker
    private let picks: [[Int]]

    static let none = RowIndexes([])

    private static let valuesBytesMax = 300
    private static let hashBytes = 16

    init(_ indexes: [RowIndex]) {
        list = indexes.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        var pointers: [JSONPointer] = []
        for pointer in list.flatMap(\.members) where !pointers.contains(pointer) { pointers.append(pointer) }
        picker = PointerPicker(pointers)
        picks = list.map { index in index.members.compactMap(pointers.firstIndex(of:)) }
    }

    var isEmpty: Bool { list.isEmpty }

    /// An entry of the table: its key and its text.
    struct Entry: Hashable, Comparable, Sendable {
        var key: [UInt8]
        var text: [UInt8]

        static func < (a: Entry, b: Entry) -> Bool { a.key.lexicographicallyPrecedes(b.key) }
    }

    /// An entry under construction, in buffers that are reused for the next one.
    struct EntryBuilder: ~Copyable {
        fileprivate var found = UniqueArray<ByteSlice>()
        fileprivate var key = ByteBuffer(capacity: 512)
        fileprivate var text = ByteBuffer()
    }

    /// Lends the entries of a row, one for each index, in the order of their keys. O(bytes of the row).
    func forEachEntry(
        _ rowKey: RawSpan, _ json: RawSpan, _ making: inout EntryBuilder, _ body: (_ key: RawSpan, _ text: RawSpan) throws -> Void
    ) rethrows {
        if isEmpty { return }
        picker.pick(json, into: &making.found)
        for number in list.indices {
            making.key.removeAll()
            making.text.removeAll()
            making.key.append(UInt8(number))
            for pick in picks[number] {
                let slice = making.found[pick]
                OrderedValue.append(slice.isPresent ? json.slice(slice.start, slice.size) : json.slice(0, 0), to: &making.key)
            }
            Self.complete(&making.key, &making.text, rowKey)
            try body(making.key.bytes, making.text.bytes)
        }
    }

    func entries(_ key: RawSpan, _ json: RawSpan) -> [Entry] {
        if isEmpty { return [] }
        var entries: [Entry] = []
        var making = EntryBuilder()
        entries.reserveCapacity(list.count)
        forEachEntry(key, json, &making) { entries.append(Entry(key: [UInt8](copying: $0), text: [UInt8](copying: $1))) }
        return entries
    }

    /// Appends the row's key to the number and the values; if it does not fit, replaces both by a truncated form and a hash.
    private static func complete(_ key: inout ByteBuffer, _ text: inout ByteBuffer, _ rowKey: RawSpan) {
        let count = key.count - 1
        if count <= valuesBytesMax, key.count + rowKey.byteCount <= KeyRange.keyBytesMax { return key.append(rowKey) }
        text.append(littleEndian: UInt32(count))
        text.append(key.slice(1, count))
        text.append(rowKey)
        let hash = SHA256Hasher.hash([UInt8](copying: key.slice(1, count)) + [0xff] + [UInt8](copying: rowKey))
        key.truncate(to: 1 + min(count, valuesBytesMax))
        key.append(rowKey.slice(0, min(rowKey.byteCount, KeyRange.keyBytesMax - hashBytes - key.count)))
        key.append(hash.bytes.lent.slice(0, hashBytes))
    }

    /// Decodes an entry: the number of the index with the complete values, and the row's key. Nil if it is malformed.
    static func content(of key: RawSpan, _ text: RawSpan, _ index: RowIndex) -> (place: [UInt8], rowKey: [UInt8])? {
        guard key.byteCount > 1 else { return nil }
        if text.byteCount > 0 {
            guard text.byteCount > 4, case let count = Int(text.load(UInt32.self, at: 0)), count <= text.byteCount - 4 else { return nil }
            let values = [UInt8](copying: text.slice(4, count))
            return ([key.byte(at: 0)] + values, [UInt8](copying: text.slice(4 + count, text.byteCount - 4 - count)))
        }
        var offset = 1
        for _ in index.members {
            guard let end = OrderedValue.end(of: key, at: offset) else { return nil }
            offset = end
        }
        return ([UInt8](copying: key.slice(0, offset)), [UInt8](copying: key.slice(offset, key.byteCount - offset)))
    }

    /// Truncates a lower bound like keys: a key before the bound is, when truncated, before the truncated bound or equal to it.
    static func cut(_ bound: [UInt8]) -> [UInt8] { Array(bound.prefix(1 + valuesBytesMax)) }

    /// Truncates an upper bound like keys.
    static func cutEnd(_ bound: [UInt8]) -> [UInt8] { bound.count > 1 + valuesBytesMax ? cut(bound) + [0xff, 0xff] : bound }

    // MARK: Queries

    /// The number of an index; nil if the name is unknown.
    package func number(of name: String) -> Int? { list.firstIndex { $0.name == name } }

    /// The lower and upper bounds of entries with given first values, and optionally with bounds on the next one; all are JSON texts.
    static func bounds(_ number: Int, equal: [[UInt8]], from: [UInt8]?, to: [UInt8]?) -> (lower: [UInt8], upper: [UInt8]) {
        let fixed = place(number, equal)
        return (from.map { place(number, equal + [$0]) } ?? fixed, to.map { place(number, equal + [$0]) } ?? fixed + [0xff])
    }

    /// Where the entries of an index with such first values begin.
    private static func place(_ number: Int, _ values: [[UInt8]]) -> [UInt8] {
        var place = ByteBuffer(capacity: 64)
        place.append(UInt8(number))
        for value in values { OrderedValue.append(value.lent, to: &place) }
        return place.array()
    }

    /// The ranges in which a generation that an older program has built may have entries with such values under other keys.
    static func formerPlaces(_ number: Int, _ equal: [[UInt8]], _ bounds: [[UInt8]?]) -> [KeyRange] {
        (equal + bounds.compactMap(\.self)).enumerated().compactMap { index, value in
            guard let former = OrderedValue.former(value.lent) else { return nil }
            let place = place(number, Array(equal.prefix(index))) + former
            return KeyRange(lower: cut(place), upper: cutEnd(place + [0xff]))
        }
    }
}

extension RowIndex {
    /// Reads the member `indexes` of a definition, which maps names to a pointer or a list of pointers.
    static func list(_ node: FileNode, of projection: String) throws(FileProblem) -> [RowIndex] {
        var indexes: [RowIndex] = []
        for member in try node.map("indexes") {
            guard DefinitionSet.isName(member.name) else {
                throw member.problem(
                    "\(quoted(member.name)) is not a valid name for an index", fix: "letters, digits, _, - and . (the first a letter)")
            }
            var pointers: [JSONPointer] = []
            let nodes = if case .list(let nodes) = member.value.kind { nodes } else { [member.value] }
            for node in nodes {
                let pointer = try node.pointer("a member of the index \(member.name)")
                if pointer.isRoot { throw node.problem("a row is ordered by some of its members, and not by itself", fix: "write /member") }
                if pointers.contains(pointer) { throw node.problem("\(pointer) occurs twice in the index \(member.name)") }
                pointers.append(pointer)
            }
            guard (1 ... membersMax).contains(pointers.count) else {
                throw member.problem("the index \(member.name) has \(pointers.count) members; 1 to \(membersMax) are possible")
            }
            indexes.append(RowIndex(name: member.name, members: pointers))
        }
        guard indexes.count <= indexesMax else {
            throw node.problem("\(projection) has \(indexes.count) indexes; \(indexesMax) are the most")
        }
        return indexes
    }
}
