internal import Bytes

/// Edits. A new or attached member is appended to its object; a replaced or renamed member keeps its position. No edit produces duplicate
/// names in an object: an edited member replaces another one of its name. A given text must be one valid JSON value. A member's parent must
/// be an object and an element's parent an array; the caller checks that (`kind`).
extension JSONEditor {
    /// Sets the value of an object's member; appends the member if it is absent.
    @discardableResult
    package mutating func set(_ name: MemberName, of parent: Node, to json: RawSpan) -> Node {
        let node = memberToSet(name, of: parent)
        place(json, in: node)
        return node
    }

    package mutating func replace(_ node: Node, with json: RawSpan) {
        place(json, in: node)
        openRoot(node)
    }

    /// Gives a node the value of another node, which is detached and must not be used any more.
    package mutating func replace(_ node: Node, withValueOf other: Node) {
        precondition(!lies(node, within: other), "a value takes the place of another, not of a part of itself")
        detach(other)
        moveValue(of: other, to: node)
        openRoot(node)
    }

    /// Sets an object's member to an empty object.
    @discardableResult
    package mutating func makeObject(_ name: MemberName, of parent: Node) -> Node {
        let node = memberToSet(name, of: parent)
        placeEmpty(.object, in: node)
        return node
    }

    /// Appends an empty object as a member; the parent must be an object without a member of that name.
    package mutating func addObject(_ name: MemberName, to parent: Node) -> Node {
        precondition(kind(parent) == .object, "a member is set in an object")
        open(parent)
        let node = addMember(name, to: parent)
        placeEmpty(.object, in: node)
        return node
    }

    /// A detached empty object, to be filled and attached, or written by itself.
    package mutating func makeObject() -> Node {
        let node = add()
        placeEmpty(.object, in: node)
        return node
    }

    /// A detached value, to be attached or to replace another.
    package mutating func make(_ json: RawSpan) -> Node {
        let node = add()
        place(json, in: node)
        return node
    }

    /// A detached string, given as UTF-8.
    package mutating func make(string utf8: RawSpan) -> Node {
        let node = add()
        let start = arena.count
        appendQuoted(utf8, into: &arena)
        placed(start, .string, in: node)
        return node
    }

    /// Turns `x` into `[x]`; the node becomes the array.
    package mutating func wrapInArray(_ node: Node) {
        let element = add()
        moveValue(of: node, to: element)
        placeEmpty(.array, in: node)
        link(element, under: node)
    }

    package mutating func rename(_ node: Node, to name: MemberName) {
        guard let parent = parent(of: node) else { return }
        precondition(kind(parent) == .object, "only members have names")
        if let other = member(name, of: parent), other != node { detach(other) }
        spell(name, on: node)
        endText()
    }
}

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
        precondition(kind(parent) == .object, "a member is put into an object")
        precondition(node.index != 0 && records[Int(node.index)].parent < 0, "only a detached node is attached")
        precondition(!lies(parent, within: node), "a value is not put into itself")
        if let other = member(name, of: parent) { detach(other) }
        spell(name, on: node)
        endText()
        link(node, under: parent)
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

    func lies(_ node: Node, within other: Node) -> Bool {
        var index = node.index
        while index >= 0 {
            if index == other.index { return true }
            index = records[Int(index)].parent
        }
        return false
    }
}

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

    /// Keeps roots open, as after a load, so that the next edit produces the same bytes whether its value is in memory or read anew.
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
