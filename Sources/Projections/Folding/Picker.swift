internal import Bytes
internal import JSONText

/// Finds what stands at several pointers of an object in one pass over its text.
struct Picker: Sendable {
    /// A member that is looked for. Members of one object stand in a row in `nodes`.
    private struct Node: BitwiseCopyable {
        /// Where its name is in `names`.
        var name = 0
        var nameCount = 0
        /// Which pointer ends here; -1 where none does.
        var pick = -1
        var children = 0
        var childCount = 0
    }

    private var nodes = [Node()]
    private var names: [UInt8] = []
    let count: Int

    /// - Parameter pointers: no two the same.
    init(_ pointers: [JSONPointer]) {
        count = pointers.count
        place(pointers.enumerated().map { ($0, $1.tokens[...]) }, under: 0)
    }

    private mutating func place(_ pointers: [(pick: Int, tokens: ArraySlice<MemberName>)], under parent: Int) {
        var members: [MemberName] = []
        for (pick, tokens) in pointers {
            guard let first = tokens.first else {
                nodes[parent].pick = pick
                continue
            }
            if !members.contains(first) { members.append(first) }
        }
        let start = nodes.count
        (nodes[parent].children, nodes[parent].childCount) = (start, members.count)
        for member in members {
            nodes.append(Node(name: names.count, nameCount: member.utf8.count))
            names += member.utf8
        }
        for (index, member) in members.enumerated() {
            place(pointers.filter { $0.tokens.first == member }.map { ($0.pick, $0.tokens.dropFirst()) }, under: start + index)
        }
    }

    /// Leaves in `found` where each pointer's value stands, `absent` where there is none.
    func pick(_ text: RawSpan, into found: inout Slots<ByteSlice>) {
        found.removeAll()
        for _ in 0 ..< count { found.append(.absent) }
        if count == 0 { return }
        if nodes[0].pick >= 0 { found[nodes[0].pick] = ByteSlice(0, text.byteCount) }
        _ = members(of: nodes[0], text, from: JSONCursor.skipSpace(text, 0), into: &found)
    }

    /// Looks for the members of an object until all are found; returns an offset within the object and outside its values,
    /// nil where there is no object or it ends before.
    private func members(of node: Node, _ text: RawSpan, from start: Int, into found: inout Slots<ByteSlice>) -> Int? {
        var wanted = node.childCount
        guard wanted > 0, start < text.byteCount, text.byte(at: start) == 0x7b else { return nil }
        var offset = start + 1
        while true {
            offset = JSONCursor.skipSpace(text, offset)
            guard offset < text.byteCount, text.byte(at: offset) == 0x22, let name = JSONCursor.endOfString(text, offset) else {
                return nil
            }
            let child = child(of: node, named: text, offset + 1, name.end - 1, isPlain: name.isPlain)
            offset = JSONCursor.skipSpace(text, name.end)
            guard offset < text.byteCount, text.byte(at: offset) == 0x3a else { return nil }
            offset = JSONCursor.skipSpace(text, offset + 1)
            let value = offset
            var end: Int?
            if child >= 0 {
                wanted -= 1
                let inside = nodes[child].childCount > 0 ? members(of: nodes[child], text, from: value, into: &found) : nil
                // Where the last value ends does not matter unless it is asked for itself.
                if wanted == 0, nodes[child].pick < 0 { return nil }
                // What was passed within the value is not passed again.
                if let inside { end = JSONCursor.endOfContainer(text, inside, depth: 1) }
            }
            end = end ?? JSONCursor.endOfValue(text, value)
            guard let end else { return nil }
            if child >= 0, nodes[child].pick >= 0 { found[nodes[child].pick] = ByteSlice(value, end - value) }
            if wanted == 0 { return end }
            offset = JSONCursor.skipSpace(text, end)
            guard offset < text.byteCount, text.byte(at: offset) == 0x2c else { return nil }
            offset += 1
        }
    }

    private func child(of node: Node, named text: RawSpan, _ start: Int, _ end: Int, isPlain: Bool) -> Int {
        guard isPlain else {
            guard let name = JSONString.decoded(text.slice(start - 1, end - start + 2)) else { return -1 }
            let utf8 = Array(name.utf8)
            return child(of: node, named: utf8.lent, 0, utf8.count, isPlain: true)
        }
        let size = end - start
        for index in node.children ..< node.children + node.childCount where nodes[index].nameCount == size {
            if text.slice(start, size).equals(names.lent.slice(nodes[index].name, size)) { return index }
        }
        return -1
    }
}

/// The text that a string literal with escapes means.
enum JSONString {
    static func decoded(_ literal: RawSpan) -> String? {
        do {
            guard case .string(let text) = try JSONValue(parsing: literal) else { return nil }
            return text
        } catch { return nil }
    }
}
