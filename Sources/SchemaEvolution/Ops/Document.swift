internal import JSONText

/// The object that an op changes: the document of one event, or a symbolic document, which stands for the documents of all events of a
/// shape.
///
/// An op is implemented once, against this protocol. Run on a document, it changes the document. Run on a symbolic document, it emits
/// instructions of a program: wherever its behaviour depends on the event, the symbolic document picks one answer and records that there
/// are others, and the op is run again for each of those (a staged interpreter; Taha and Sheard, "MetaML and multi-stage programming with
/// explicit annotations", 2000).
protocol Document: ~Copyable {
    associatedtype Node

    // Reading.
    mutating func kind(_ node: Node) -> JSONKind
    mutating func member(_ name: MemberName, of parent: Node) -> Node?
    /// The member that need not be present; a symbolic document does not test that. Operations on an absent member do nothing.
    mutating func child(_ name: MemberName, of parent: Node) -> Node?
    mutating func isEmpty(_ node: Node) -> Bool
    /// Whether a value equals one of several constants in canonical form.
    mutating func equals(_ node: Node, anyOf constants: [[UInt8]]) -> Bool
    /// Whether two values are equal, regardless of their notation.
    mutating func means(_ node: Node, _ other: Node) -> Bool
    /// Whether a text equals the content of a value: the characters of a string, the JSON text of other values.
    mutating func hasContent(_ node: Node, of text: Node) -> Bool
    /// What a shape expects in place of a value that does not fit; nil if the value fits.
    mutating func misfit(_ node: Node, _ shape: EventShape) -> String?
    mutating func isBelow(_ node: Node, _ test: Guard) -> Bool
    /// Whether a guard on metadata or time holds.
    mutating func holdsBeside(_ test: Guard) -> Bool

    // Making values, which are detached at first.
    mutating func makeObject() -> Node
    /// A value that an event carries beside its payload; nil if the event has none.
    mutating func beside(_ source: Source) -> Node?
    /// The result of a codec; nil for null, which codecs leave unchanged.
    mutating func convert(_ node: Node, _ conversion: Conversion) throws(OpStop) -> Node?
    mutating func concatenate(_ pieces: [TextPiece<Node>]) -> Node
    /// The parts of a text; their number depends on the text.
    mutating func split(_ node: Node, _ rule: SeparatedText) throws(OpStop) -> [Node]
    /// The first element of a list; nil if the list is empty. The other elements are lost.
    mutating func first(of list: Node) -> Node?
    mutating func copy(_ node: Node) -> Node

    // Changing values.
    mutating func detach(_ node: Node)
    mutating func attach(_ node: Node, as name: MemberName, to parent: Node)
    mutating func addObject(_ name: MemberName, to parent: Node) -> Node
    /// Renames a member, which keeps its position; does nothing if it is absent.
    mutating func rename(_ old: MemberName, to name: MemberName, in parent: Node)
    mutating func wrapInArray(_ node: Node)
    mutating func set(_ name: MemberName, of parent: Node, to json: [UInt8])
    mutating func replace(_ node: Node, with json: [UInt8])
    mutating func replace(_ node: Node, withValueOf other: Node)
    mutating func run(_ op: any BoundOp, at object: Node, _ direction: Direction) throws(OpStop)
    /// Runs ops on each element of a list or each value of a map.
    mutating func each(_ holder: Node, _ elements: ElementRun) throws(OpStop)

    // The outcome for the event.
    mutating func lose(_ count: Int)
    /// Counts a present value as lost, unless it equals a constant in canonical form.
    mutating func lose(_ node: Node, unless canonical: [UInt8]?)
    /// The error with which an op refuses the event.
    mutating func refusal(at pointer: JSONPointer, expected: @autoclosure () -> String, found: @autoclosure () -> Found<Node>) -> OpStop
}

enum TextPiece<Node> {
    case literal([UInt8])
    /// The text of a scalar: the characters of a string, the canonical form of a number.
    case text(Node)
}

/// What an op found, for a message.
enum Found<Node> {
    case node(Node)
    case words(String)
}

/// Ops to run on each element of a list, in order.
struct ElementRun {
    let ops: [any BoundOp]
    let direction: Direction
    let path: JSONPointer
    /// Whether the ops apply to objects. Data from before versions existed may contain other elements; these stay unchanged, and the image
    /// then does not fit its shape.
    let isOfObjects: Bool
}

extension Document where Self: ~Copyable {
    /// The value at a pointer that leads through members of objects; nil if there is none.
    mutating func value(at pointer: JSONPointer, from node: Node) -> Node? {
        var node = node
        for index in pointer.tokens.indices {
            guard let member = member(pointer.tokens[index], of: node) else { return nil }
            node = member
        }
        return node
    }

    /// The value at a pointer whose last member need not be present.
    mutating func find(_ pointer: JSONPointer, from node: Node) -> Node? {
        var node = node
        for index in pointer.tokens.indices {
            let isLast = index == pointer.tokens.count - 1
            guard let next = isLast ? child(pointer.tokens[index], of: node) : member(pointer.tokens[index], of: node) else { return nil }
            node = next
        }
        return node
    }

    /// Gives a member the value of a detached node, or attaches that node.
    mutating func set(_ name: MemberName, of parent: Node, toValueOf node: Node) {
        if let old = member(name, of: parent) { replace(old, withValueOf: node) } else { attach(node, as: name, to: parent) }
    }

    mutating func equals(_ node: Node, _ canonical: [UInt8]) -> Bool { equals(node, anyOf: [canonical]) }
}
