internal import Bytes

/// The primitives that edits are built from. New text is appended to the arena. A name is followed by its colon and, if the value is new
/// too, by the value, so that one copy writes them together.
extension JSONEditor {
    /// A new, detached node without a value.
    mutating func add() -> Node {
        records.append(Record(start: 0, count: 0, kind: .null))
        return Node(index: Int32(truncatingIfNeeded: records.count - 1))
    }

    /// The member of that name, or a new last member. The caller must place its value immediately.
    mutating func memberToSet(_ name: MemberName, of parent: Node) -> Node {
        precondition(kind(parent) == .object, "a member is set in an object")
        if let member = member(name, of: parent) { return member }
        return addMember(name, to: parent)
    }

    /// Appends a member whose name the object must not have yet. The caller must place its value immediately.
    mutating func addMember(_ name: MemberName, to parent: Node) -> Node {
        let node = add()
        spell(name, on: node)
        link(node, under: parent)
        return node
    }

    /// Makes a node the last child of an opened container.
    mutating func link(_ node: Node, under parent: Node) {
        let index = Int(parent.index)
        let last = records[index].count
        records[Int(node.index)].parent = parent.index
        if last >= 0 {
            records[Int(last)].next = node.index
        } else {
            records[index].start = node.index
        }
        records[index].count = node.index
    }

    /// Order: a value is placed next, or `endText` is called, so that the arena ends in zeros again.
    mutating func spell(_ name: MemberName, on node: Node) {
        let forms = name.forms
        records[Int(node.index)].spell(forms.key, at: arena.count, forms.literalCount, hasEscapes: forms.hasEscapes)
        arena.append(forms.label)
    }

    mutating func place(_ json: RawSpan, in node: Node) {
        let start = arena.count
        let json = trimmed(json)
        guard json.byteCount > 0, let kind = JSONKind(firstByte: json.byte(at: 0)) else {
            preconditionFailure("an edit is given one JSON value")
        }
        arena.append(json)
        placed(start, kind, in: node)
    }

    mutating func placeString(_ utf8: RawSpan, in node: Node) {
        let start = arena.count
        appendQuoted(utf8, into: &arena)
        placed(start, .string, in: node)
    }

    @inline(__always)
    private mutating func placed(_ start: Int, _ kind: JSONKind, in node: Node) {
        records[Int(node.index)].place(kind, start, arena.count &- start)
        endText()
    }

    mutating func placeEmpty(_ kind: JSONKind, in node: Node) {
        let index = Int(node.index)
        records[index].start = -1
        records[index].count = -1
        records[index].kind = kind
        records[index].isOpened = true
        endText()
    }

    /// Moves the value of one node to another. The source must be given another value or not be used any more.
    mutating func moveValue(of source: Node, to target: Node) {
        let value = record(source)
        let index = Int(target.index)
        records[index].start = value.start
        records[index].count = value.count
        records[index].kind = value.kind
        records[index].isOpened = value.isOpened
        records[index].isCompact = false
        var child = value.firstChild
        while child >= 0 {
            records[Int(child)].parent = target.index
            child = records[Int(child)].next
        }
    }

    /// Keeps roots open, as after a load, so that the next edit produces the same bytes whether it finds the value in memory or reads it
    /// anew.
    mutating func openRoot(_ node: Node) {
        if records[Int(node.index)].parent < 0 { open(node) }
    }

    @inline(__always)
    mutating func endText() {
        arena.append(littleEndian: textEnd)
        precondition(arena.count < Int(Int32.max), "the edits of one text stay below 2 GiB")
    }
}

/// A value's text without surrounding spaces, which are not part of the value and would not survive a write and a load.
@inline(__always)
@_lifetime(copy json)
private func trimmed(_ json: RawSpan) -> RawSpan {
    let count = json.byteCount
    if count > 0, json.byte(at: 0) > 0x20, json.byte(at: count &- 1) > 0x20 { return json }
    return withoutSpaces(json)
}

@inline(never)
@_lifetime(copy json)
private func withoutSpaces(_ json: RawSpan) -> RawSpan {
    var first = 0
    var end = json.byteCount
    while first < end, isSpace(json.byte(at: first)) { first &+= 1 }
    while end > first, isSpace(json.byte(at: end &- 1)) { end &-= 1 }
    return json.slice(first, end &- first)
}
