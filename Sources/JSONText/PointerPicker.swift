package import Bytes

/// Finds the values at several pointers of an object in one pass over its text.
package struct PointerPicker: Sendable {
    /// A member to look for. The members of one object are consecutive in `nodes`.
    private struct Node: BitwiseCopyable {
        /// The offset of its name in `names`.
        var name = 0
        var nameCount = 0
        /// The index of the pointer that ends here; -1 if none does.
        var pick = -1
        var children = 0
        var childCount = 0
    }

    private var nodes = [Node()]
    private var names: [UInt8] = []
    package let count: Int

    /// - Parameter pointers: without duplicates.
    package init(_ pointers: [JSONPointer]) {
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

    /// Stores the range of each pointer's value in `found`, or `absent` if there is none.
    package func pick(_ text: RawSpan, into found: inout UniqueArray<ByteSlice>) {
        found.removeAll()
        for _ in 0 ..< count { found.append(.absent) }
        if count == 0 { return }
        if nodes[0].pick >= 0 { found[nodes[0].pick] = ByteSlice(0, text.byteCount) }
        var walk = JSONWalker(text)
        walk.skipSpaces()
        pickMembers(of: nodes[0], &walk, into: &found)
    }

    /// Looks for the members of the object that begins at the offset until all are found, and moves behind the last of them. The walker is
    /// lost if there is no object or if the object ends first.
    private func pickMembers(of node: Node, _ walk: inout JSONWalker, into found: inout UniqueArray<ByteSlice>) {
        var wanted = node.childCount
        guard wanted > 0, walk.enterObject() else { return walk.markMalformed() }
        while let name = walk.nextName() {
            let child = child(of: node, named: walk.text.slice(name.start &+ 1, name.end &- name.start &- 2), isPlain: !name.hasEscapes)
            let start = walk.offset
            if child < 0 {
                _ = walk.skipValue()
                continue
            }
            wanted -= 1
            var isPassed = false
            if nodes[child].childCount > 0 {
                pickMembers(of: nodes[child], &walk, into: &found)
                isPassed = !walk.isMalformed
                if !isPassed { walk.offset = start }
            }
            // The end of the last value matters only if that value itself is wanted.
            if wanted == 0, nodes[child].pick < 0 { return walk.markMalformed() }
            // The part of the value that was already scanned is not scanned again.
            if isPassed {
                walk.offset = JSONWalker.endOfContainer(walk.text, walk.offset, depth: 1)
            } else {
                _ = walk.skipValue()
            }
            if walk.isMalformed { return }
            if nodes[child].pick >= 0 { found[nodes[child].pick] = ByteSlice(start, walk.offset &- start) }
            if wanted == 0 { return }
        }
        walk.markMalformed()
    }

    private func child(of node: Node, named name: RawSpan, isPlain: Bool) -> Int {
        guard isPlain else {
            var plain = ByteBuffer(capacity: name.byteCount)
            appendUnescaped(name, into: &plain)
            return child(of: node, named: plain.bytes, isPlain: true)
        }
        for index in node.children ..< node.children + node.childCount where nodes[index].nameCount == name.byteCount {
            if name.equals(names.lent.slice(nodes[index].name, name.byteCount)) { return index }
        }
        return -1
    }
}
