internal import Bytes

extension JSONEditor {
    /// Detaches a node from its parent; it may be attached again.
    package mutating func detach(_ node: Node) {
        let index = Int(node.index)
        let parent = Int(records[index].parent)
        guard parent >= 0 else { return }
        let next = records[index].next
        var previous: Int32 = -1
        var sibling = records[parent].start
        while sibling != node.index {
            previous = sibling
            sibling = records[Int(sibling)].next
        }
        if previous >= 0 {
            records[Int(previous)].next = next
        } else {
            records[parent].start = next
        }
        if next < 0 { records[parent].count = previous }
        records[index].parent = -1
        records[index].next = -1
    }

    /// Attaches a detached node as the last member of an object.
    package mutating func attach(_ node: Node, as name: MemberName, to parent: Node) {
        mayLink(node, under: parent, .object)
        if let other = member(name, of: parent) { detach(other) }
        spell(name, on: node)
        endText()
        link(node, under: parent)
    }

    /// Attaches a detached node as the last element of an array.
    package mutating func append(_ node: Node, to array: Node) {
        mayLink(node, under: array, .array)
        open(array)
        let index = Int(node.index)
        records[index].key = 0
        records[index].nameStart = -1
        records[index].nameCount = 0
        records[index].nameHasEscapes = false
        records[index].isCompact = false
        link(node, under: array)
    }

    /// An independent, detached copy of a value.
    package mutating func copy(_ node: Node) -> Node {
        var value = record(node)
        var child = value.firstChild
        value.parent = -1
        value.next = -1
        if value.isOpened {
            value.start = -1
            value.count = -1
        }
        records.append(value)
        let copied = Node(index: Int32(truncatingIfNeeded: records.count - 1))
        while child >= 0 {
            link(copy(Node(index: child)), under: copied)
            child = records[Int(child)].next
        }
        return copied
    }

    private func mayLink(_ node: Node, under parent: Node, _ kind: JSONKind) {
        precondition(self.kind(parent) == kind, "a member is put into an object and an element into an array")
        precondition(node.index != 0 && records[Int(node.index)].parent < 0, "only a detached node is attached")
        precondition(!lies(parent, within: node), "a value is not put into itself")
    }

    func lies(_ node: Node, within other: Node) -> Bool {
        var index = node.index
        while index >= 0 {
            if index == other.index { return true }
            index = records[Int(index)].parent
        }
        return false
    }
}
