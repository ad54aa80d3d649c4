internal import Bytes

/// A new or attached member goes to the end of its object; a replaced or renamed one keeps its place. No edit makes a
/// name stand twice in one object: the newcomer wins. A text that is given is one valid JSON value; a member's parent
/// is an object and an element's an array, which the caller knows (`kind`).
extension Splice {
    /// Gives a member of an object another value, or appends it.
    @discardableResult
    package mutating func set(_ name: MemberName, of parent: Node, to json: RawSpan) -> Node {
        let node = memberToSet(name, of: parent)
        place(json, in: node)
        return node
    }

    /// Gives a value another text in its place.
    package mutating func replace(_ node: Node, with json: RawSpan) {
        place(json, in: node)
        openRoot(node)
    }

    /// Gives a node the value of another, which is taken from its place and not used any more.
    package mutating func replace(_ node: Node, withValueOf other: Node) {
        precondition(!lies(node, within: other), "a value takes the place of another, not of a part of itself")
        detach(other)
        moveValue(of: other, to: node)
        openRoot(node)
    }

    /// An empty object as a member.
    @discardableResult
    package mutating func makeObject(_ name: MemberName, of parent: Node) -> Node {
        let node = memberToSet(name, of: parent)
        placeEmpty(.object, in: node)
        return node
    }

    /// An empty object as a new last member, of a name that the parent, an object, is known not to have.
    package mutating func addObject(_ name: MemberName, to parent: Node) -> Node {
        precondition(kind(parent) == .object, "a member is set in an object")
        open(parent)
        let node = addMember(name, to: parent)
        placeEmpty(.object, in: node)
        return node
    }

    /// An empty object outside the text, to be filled and attached or written by itself.
    package mutating func makeObject() -> Node {
        let node = add()
        placeEmpty(.object, in: node)
        return node
    }

    /// A value outside the text, to be attached or to replace another.
    package mutating func make(_ json: RawSpan) -> Node {
        let node = add()
        place(json, in: node)
        return node
    }

    /// A string outside the text, given as UTF-8.
    package mutating func make(string utf8: RawSpan) -> Node {
        let node = add()
        placeString(utf8, in: node)
        return node
    }

    /// `x` becomes `[x]`; the node is the array.
    package mutating func wrapInArray(_ node: Node) {
        let element = add()
        moveValue(of: node, to: element)
        placeEmpty(.array, in: node)
        link(element, under: node)
    }

    /// Gives a member another name in its place.
    package mutating func rename(_ node: Node, to name: MemberName) {
        guard let parent = parent(of: node) else { return }
        precondition(kind(parent) == .object, "only members have names")
        if let other = member(name, of: parent), other != node { detach(other) }
        spell(name, on: node)
        endText()
    }
}
