internal import Bytes
internal import EventModel
internal import JSONText

/// A shape laid out flat for checking bytes: a valid payload is checked without allocating.
final class ShapeProgram: Sendable {
    struct Node: Sendable {
        var kind: Shape.Kind
        var isNullable: Bool
        /// Whether the value must not be shown: data of a person, ciphertext, or within such.
        var isSecret: Bool
        var format: Shape.Format?
        /// Where its members, if it has any, lie in `members`.
        var members = 0 ..< 0
        var requiredCount = 0
        /// The node of every element or map value; -1 for none.
        var inner = -1
        /// Canonical texts in `choices`; nil where any value will do.
        var choices: Range<Int>?
        /// Of a length, or a count of elements.
        var least = 0
        var most = Int.max
        /// Indexes into `bounds`; -1 for none.
        var minimum = -1
        var maximum = -1
    }

    struct Member: Sendable {
        var name: Range<Int>
        var node: Int
        var isRequired: Bool
    }

    struct Bound: Sendable {
        var number: DecimalNumber
        var integer: Int?
    }

    let nodes: [Node]
    let members: [Member]
    /// The UTF-8 of all members' names.
    let names: [UInt8]
    let choices: [[UInt8]]
    let bounds: [Bound]

    init(_ shape: Shape) {
        var layout = Layout()
        _ = layout.add(shape, isSecret: false)
        (nodes, members, names) = (layout.nodes, layout.members, layout.names)
        (choices, bounds) = (layout.choices, layout.bounds)
    }

    private struct Layout {
        var nodes: [Node] = []
        var members: [Member] = []
        var names: [UInt8] = []
        var choices: [[UInt8]] = []
        var bounds: [Bound] = []

        mutating func add(_ shape: Shape, isSecret: Bool) -> Int {
            let index = nodes.count
            let isSecret = isSecret || shape.isPersonal || shape.isSealed
            var node = Node(kind: shape.kind, isNullable: shape.isNullable, isSecret: isSecret, format: shape.format)
            nodes.append(node)

            // Order: a node's members lie together, so they are laid out before what they hold.
            let first = members.count
            for property in shape.properties {
                let start = names.count
                names += Array(property.name.utf8)
                members.append(Member(name: start ..< names.count, node: -1, isRequired: shape.required.contains(property.name)))
            }
            node.members = first ..< members.count
            node.requiredCount = members[node.members].count { $0.isRequired }
            for (offset, property) in shape.properties.enumerated() {
                members[first + offset].node = add(property.shape, isSecret: isSecret)
            }
            if let inner = shape.items ?? shape.additional { node.inner = add(inner, isSecret: isSecret) }

            if let values = shape.constant.map({ [$0] }) ?? shape.enumeration {
                let allowed = Set((shape.enumeration ?? values).map { $0.canonical() })
                let start = choices.count
                choices += values.map { $0.canonical() }.filter(allowed.contains)
                node.choices = start ..< choices.count
            }
            node.least = shape.minLength ?? shape.minItems ?? 0
            node.most = shape.maxLength ?? shape.maxItems ?? .max
            node.minimum = bound(shape.minimum)
            node.maximum = bound(shape.maximum)
            nodes[index] = node
            return index
        }

        private mutating func bound(_ number: DecimalNumber?) -> Int {
            guard let number else { return -1 }
            bounds.append(Bound(number: number, integer: number.integer))
            return bounds.count - 1
        }
    }
}
