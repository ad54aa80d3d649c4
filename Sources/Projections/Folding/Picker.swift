internal import Bytes
internal import JSONText

/// Finds what stands at several pointers of an object in one pass over its text.
struct Picker: Sendable {
    private struct Node: Sendable {
        var name: [UInt8]
        /// Which pointer ends here; -1 where none does.
        var pick = -1
        var children: [Node] = []
    }

    private var root = Node(name: [])
    let count: Int

    /// - Parameter pointers: no two the same.
    init(_ pointers: [JSONPointer]) {
        count = pointers.count
        for (index, pointer) in pointers.enumerated() { Self.insert(pointer.tokens[...], index, into: &root) }
    }

    private static func insert(_ tokens: ArraySlice<MemberName>, _ index: Int, into node: inout Node) {
        guard let first = tokens.first else {
            node.pick = index
            return
        }
        let child = node.children.firstIndex { $0.name == first.utf8 }
        if child == nil { node.children.append(Node(name: first.utf8)) }
        insert(tokens.dropFirst(), index, into: &node.children[child ?? node.children.count - 1])
    }

    /// Leaves in `found` where each pointer's value stands, `absent` where there is none.
    func pick(_ text: RawSpan, into found: inout [Slice]) {
        if found.count == count {
            for index in found.indices { found[index] = .absent }
        } else {
            found = [Slice](repeating: .absent, count: count)
        }
        if count == 0 { return }
        if root.pick >= 0 { found[root.pick] = Slice(0, text.byteCount) }
        members(of: root, text, from: 0, into: &found)
    }

    private func members(of node: borrowing Node, _ text: RawSpan, from start: Int, into found: inout [Slice]) {
        var wanted = node.children.count
        var offset = JSONCursor.skipSpace(text, start)
        guard wanted > 0, offset < text.byteCount, text.byte(at: offset) == 0x7b else { return }
        offset += 1
        while wanted > 0 {
            offset = JSONCursor.skipSpace(text, offset)
            guard offset < text.byteCount, text.byte(at: offset) == 0x22, let name = JSONCursor.endOfString(text, offset) else { return }
            let child = Self.child(of: node, named: text, offset + 1, name.end - 1, isPlain: name.isPlain)
            offset = JSONCursor.skipSpace(text, name.end)
            guard offset < text.byteCount, text.byte(at: offset) == 0x3a else { return }
            offset = JSONCursor.skipSpace(text, offset + 1)
            guard let end = JSONCursor.endOfValue(text, offset) else { return }
            if child >= 0 {
                wanted -= 1
                let pick = node.children[child].pick
                if pick >= 0 { found[pick] = Slice(offset, end - offset) }
                if !node.children[child].children.isEmpty { members(of: node.children[child], text, from: offset, into: &found) }
            }
            offset = JSONCursor.skipSpace(text, end)
            guard offset < text.byteCount, text.byte(at: offset) == 0x2c else { return }
            offset += 1
        }
    }

    private static func child(of node: borrowing Node, named text: RawSpan, _ start: Int, _ end: Int, isPlain: Bool) -> Int {
        guard isPlain else {
            guard let name = JSONString.decoded(text.slice(start - 1, end - start + 2)) else { return -1 }
            return node.children.firstIndex { $0.name == Array(name.utf8) } ?? -1
        }
        let size = end - start
        for index in node.children.indices where node.children[index].name.count == size {
            let name = node.children[index].name
            if text.slice(start, size).equals(name.lent) { return index }
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
