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

    /// Replaces a value by another text.
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
        placeString(utf8, in: node)
        return node
    }

    /// Turns `x` into `[x]`; the node becomes the array.
    package mutating func wrapInArray(_ node: Node) {
        let element = add()
        moveValue(of: node, to: element)
        placeEmpty(.array, in: node)
        link(element, under: node)
    }

    /// Renames a member, which keeps its position.
    package mutating func rename(_ node: Node, to name: MemberName) {
        guard let parent = parent(of: node) else { return }
        precondition(kind(parent) == .object, "only members have names")
        if let other = member(name, of: parent), other != node { detach(other) }
        spell(name, on: node)
        endText()
    }
}
