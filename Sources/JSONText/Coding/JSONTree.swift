internal import Bytes

/// The values encoded so far. Containers may be filled in any order, so the text is laid out at the end.
///
/// Used by one thread.
final class JSONTree {
    enum Kind: UInt8, BitwiseCopyable { case unset, scalar, object, array }

    private struct Node: BitwiseCopyable, Sendable {
        var kind = Kind.unset
        var parent: Int32
        /// The range of the scalar's text in `scratch`.
        var start: Int32 = 0
        var count: Int32 = 0
        /// The range of the quoted name in `scratch`.
        var nameStart: Int32 = 0
        var nameCount: Int32 = 0
        /// Links to children and siblings; 0 means none, since the root is nobody's child.
        var first: Int32 = 0
        var last: Int32 = 0
        var next: Int32 = 0
        var children: Int32 = 0
    }

    let root = 0
    let leaves: [JSONLeaf]
    private var nodes = UniqueArray<Node>(capacity: 32)
    private var scratch = ByteBuffer(capacity: 512)

    init(_ leaves: [JSONLeaf]) {
        self.leaves = leaves
        nodes.append(Node(parent: -1))
    }

    func become(_ kind: Kind, _ index: Int) {
        precondition(nodes[index].kind == .unset || nodes[index].kind == kind, "a value is encoded once, and as one kind of container")
        nodes[index].kind = kind
    }

    func count(of index: Int) -> Int { Int(nodes[index].children) }

    /// Appends a member or element that has no value yet.
    func child(of parent: Int, named name: String? = nil) -> Int {
        let index = nodes.count
        var node = Node(parent: Int32(parent))
        if let name {
            node.nameStart = Int32(scratch.count)
            appendQuoted(Array(name.utf8).lent, into: &scratch)
            node.nameCount = Int32(scratch.count) - node.nameStart
        }
        nodes.append(node)
        let last = Int(nodes[parent].last)
        if last == 0 { nodes[parent].first = Int32(index) } else { nodes[last].next = Int32(index) }
        nodes[parent].last = Int32(index)
        nodes[parent].children += 1
        return index
    }

    private func scalar(_ index: Int, _ append: (inout ByteBuffer) -> Void) {
        become(.scalar, index)
        nodes[index].start = Int32(scratch.count)
        append(&scratch)
        nodes[index].count = Int32(scratch.count) - nodes[index].start
    }

    func writeNull(at index: Int) { scalar(index) { $0.append("null") } }
    func write(_ value: Bool, at index: Int) { scalar(index) { $0.append(value ? "true" : "false") } }
    func write(_ value: String, at index: Int) { scalar(index) { appendQuoted(Array(value.utf8).lent, into: &$0) } }
    func writeInteger(_ value: some BinaryInteger, at index: Int) { scalar(index) { $0.append(String(value)) } }

    func writeNumber(_ value: some BinaryFloatingPoint & LosslessStringConvertible, at index: Int) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(value, .init(codingPath: path(to: index), debugDescription: "JSON has no \(value)"))
        }
        let text = value.description
        scalar(index) { $0.append(text.hasSuffix(".0") ? String(text.dropLast(2)) : text) }
    }

    /// Writes any value: as a leaf if its type is one, otherwise by the type's own conformance.
    func write<T: Encodable>(_ value: T, at index: Int) throws {
        let given = ObjectIdentifier(T.self)
        for leaf in leaves where leaf.type == given {
            switch leaf.write(value) {
            case .string(let text): return write(text, at: index)
            case .number(let text): return scalar(index) { $0.append(text) }
            case nil:
                throw EncodingError.invalidValue(
                    value, .init(codingPath: path(to: index), debugDescription: "no JSON says this \(leaf.name)"))
            }
        }
        try value.encode(to: ValueWriter(tree: self, index: index))
    }

    func path(to index: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var at = index
        while nodes[at].parent >= 0 {
            let parent = Int(nodes[at].parent)
            if nodes[parent].kind == .object {
                var name = ByteBuffer(capacity: 32)
                Self.copyUnescaped(nodes[at].nameStart + 1, nodes[at].nameCount - 2, of: scratch, into: &name)
                path.append(JSONKey(stringValue: String(utf8: name.bytes) ?? ""))
            } else {
                var (sibling, place) = (Int(nodes[parent].first), 0)
                while sibling != at { (sibling, place) = (Int(nodes[sibling].next), place + 1) }
                path.append(JSONKey(intValue: place))
            }
            at = parent
        }
        return path.reversed()
    }

    func text(sortsMembers: Bool) -> [UInt8] {
        var output = ByteBuffer(capacity: scratch.count * 2)
        lay(root, sortsMembers, on: &output)
        return output.array()
    }

    private func lay(_ index: Int, _ sortsMembers: Bool, on output: inout ByteBuffer) {
        let node = nodes[index]
        if node.kind == .scalar { return Self.copy(node.start, node.count, of: scratch, into: &output) }
        let isArray = node.kind == .array
        output.append(isArray ? UInt8(ascii: "[") : UInt8(ascii: "{"))
        if sortsMembers, !isArray { sort(index) }
        let first = Int(nodes[index].first)
        var child = first
        while child != 0 {
            if child != first { output.append(UInt8(ascii: ",")) }
            if !isArray {
                Self.copy(nodes[child].nameStart, nodes[child].nameCount, of: scratch, into: &output)
                output.append(UInt8(ascii: ":"))
            }
            lay(child, sortsMembers, on: &output)
            child = Int(nodes[child].next)
        }
        output.append(isArray ? UInt8(ascii: "]") : UInt8(ascii: "}"))
    }

    /// Relinks the members of an object in the order of their names.
    private func sort(_ index: Int) {
        var members: [Int] = []
        var child = Int(nodes[index].first)
        while child != 0 {
            members.append(child)
            child = Int(nodes[child].next)
        }
        members.sort { a, b in
            Self.compare(
                (nodes[a].nameStart + 1, nodes[a].nameCount - 2), (nodes[b].nameStart + 1, nodes[b].nameCount - 2), of: scratch) < 0
        }
        nodes[index].first = Int32(members.first ?? 0)
        for (at, member) in members.enumerated() { nodes[member].next = at + 1 < members.count ? Int32(members[at + 1]) : 0 }
    }

    // These functions borrow the buffer for as long as they use its bytes.

    private static func copy(_ start: Int32, _ count: Int32, of scratch: borrowing ByteBuffer, into output: inout ByteBuffer) {
        output.append(scratch.slice(Int(start), Int(count)))
    }

    private static func copyUnescaped(_ start: Int32, _ count: Int32, of scratch: borrowing ByteBuffer, into output: inout ByteBuffer) {
        appendUnescaped(scratch.slice(Int(start), Int(count)), into: &output)
    }

    private static func compare(_ a: (Int32, Int32), _ b: (Int32, Int32), of scratch: borrowing ByteBuffer) -> Int {
        scratch.slice(Int(a.0), Int(a.1)).compare(scratch.slice(Int(b.0), Int(b.1)))
    }
}
