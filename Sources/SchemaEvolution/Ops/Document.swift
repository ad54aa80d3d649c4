internal import JSONText

/// What an op changes: the document of one event, or the draft of the documents of all events of a shape.
///
/// An op is written once, against this. Run on a document, it changes that; run on a draft, it adds to a program: where what it does depends
/// on the event, the draft answers in one way, notes that there are others, and the op is run again for those (a staged interpreter; Taha and
/// Sheard, "MetaML and multi-stage programming with explicit annotations", 2000).
protocol Document: ~Copyable {
    associatedtype Node

    // What there is.
    mutating func kind(_ node: Node) -> JSONKind
    mutating func member(_ name: MemberName, of parent: Node) -> Node?
    /// A member that need not be there: a draft does not ask. What is done to one that is absent does nothing.
    mutating func child(_ name: MemberName, of parent: Node) -> Node?
    mutating func isEmpty(_ node: Node) -> Bool
    /// Whether a value means the same as one of several constants in canonical form.
    mutating func equals(_ node: Node, anyOf constants: [[UInt8]]) -> Bool
    /// Whether two values mean the same, in whatever form they are written.
    mutating func means(_ node: Node, _ other: Node) -> Bool
    /// Whether a text holds what a value holds: a string's characters, the JSON text of anything else.
    mutating func hasContent(_ node: Node, of text: Node) -> Bool
    /// What a shape expects in the place of a value that does not fit it; nil where it fits.
    mutating func misfit(_ node: Node, _ shape: EventShape) -> String?
    /// Whether a value is below a guard's bound.
    mutating func isBelow(_ node: Node, _ test: Guard) -> Bool
    /// Whether a guard holds that looks at what an event carries beside its payload.
    mutating func holdsBeside(_ test: Guard) -> Bool

    // What is made. It stands nowhere yet.
    mutating func makeObject() -> Node
    /// What an event carries beside its payload; nil where it does not.
    mutating func beside(_ source: Source) -> Node?
    /// What a codec makes of a value; nil of null, which codecs leave alone.
    mutating func convert(_ node: Node, _ conversion: Conversion) throws(OpStop) -> Node?
    /// One text of several.
    mutating func concatenate(_ pieces: [TextPiece<Node>]) -> Node
    /// The parts of a text, as many as there are.
    mutating func split(_ node: Node, _ rule: SeparatedText) throws(OpStop) -> [Node]
    /// The first element of a list; nil where it is empty. The others are lost.
    mutating func first(of list: Node) -> Node?
    mutating func copy(_ node: Node) -> Node

    // What is changed.
    mutating func detach(_ node: Node)
    mutating func attach(_ node: Node, as name: MemberName, to parent: Node)
    mutating func addObject(_ name: MemberName, to parent: Node) -> Node
    /// Gives a member another name in its place; nothing where it is absent.
    mutating func rename(_ old: MemberName, to name: MemberName, in parent: Node)
    mutating func wrapInArray(_ node: Node)
    mutating func set(_ name: MemberName, of parent: Node, to json: [UInt8])
    mutating func set(_ name: MemberName, of parent: Node, toValueOf node: Node)
    mutating func replace(_ node: Node, with json: [UInt8])
    mutating func replace(_ node: Node, withValueOf other: Node)
    mutating func run(_ op: any BoundOp, at object: Node, _ direction: Direction) throws(OpStop)
    /// Runs ops on each element of a list or value of a map.
    mutating func each(_ holder: Node, _ elements: ElementRun) throws(OpStop)

    // What becomes of the event.
    mutating func lose(_ count: Int)
    /// Counts a value that is there as lost, unless it means the same as a constant in canonical form.
    mutating func lose(_ node: Node, unless canonical: [UInt8]?)
    /// Why an op refuses the event, to be thrown.
    mutating func refusal(at pointer: JSONPointer, expected: @autoclosure () -> String, found: @autoclosure () -> Found<Node>) -> OpStop
}

/// A piece of a text that is put together.
enum TextPiece<Node> {
    case literal([UInt8])
    /// The text of a scalar: a string's characters, a number in canonical form.
    case text(Node)
}

/// What an op found, for a message.
enum Found<Node> {
    case node(Node)
    case words(String)
}

/// Ops that are run on each element of a list, in order.
struct ElementRun {
    let ops: [any BoundOp]
    let direction: Direction
    /// Where the list stands.
    let path: JSONPointer
    /// Whether the ops are for objects. Data from before versions existed may have other elements: these stay as they are, and the image
    /// then does not fit its shape.
    let isOfObjects: Bool
}

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

    /// The value at a pointer, of which the last member need not be there.
    mutating func find(_ pointer: JSONPointer, from node: Node) -> Node? {
        var node = node
        for index in pointer.tokens.indices {
            let isLast = index == pointer.tokens.count - 1
            guard let next = isLast ? child(pointer.tokens[index], of: node) : member(pointer.tokens[index], of: node) else { return nil }
            node = next
        }
        return node
    }

    mutating func equals(_ node: Node, _ canonical: [UInt8]) -> Bool { equals(node, anyOf: [canonical]) }
}
