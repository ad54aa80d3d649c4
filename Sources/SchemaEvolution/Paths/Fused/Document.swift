internal import JSONText

/// What an op changes: a document, or the draft of one whose values are not known yet.
protocol Document: ~Copyable {
    associatedtype Node

    mutating func kind(_ node: Node) -> JSONKind
    mutating func member(_ name: MemberName, of parent: Node) -> Node?
    mutating func isEmpty(_ node: Node) -> Bool
    /// Whether a value means the same as a constant in canonical form.
    mutating func equals(_ node: Node, _ canonical: [UInt8]) -> Bool
    mutating func detach(_ node: Node)
    mutating func attach(_ node: Node, as name: MemberName, to parent: Node)
    mutating func addObject(_ name: MemberName, to parent: Node) -> Node
    mutating func rename(_ node: Node, to name: MemberName)
    mutating func wrapInArray(_ node: Node)
    mutating func set(_ name: MemberName, of parent: Node, to json: [UInt8])
    mutating func replace(_ node: Node, with json: [UInt8])
}

extension Splice: Document {}

extension Document where Self: ~Copyable {
    /// The value at a pointer through members of objects; nil where there is none.
    mutating func value(at pointer: JSONPointer, from node: Node) -> Node? {
        var node = node
        for index in pointer.tokens.indices {
            guard let member = member(pointer.tokens[index], of: node) else { return nil }
            node = member
        }
        return node
    }
}
