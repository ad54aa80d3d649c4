internal import Bytes
internal import EventModel
internal import JSONText

/// A shape in flat form for checking bytes; checking a valid payload allocates nothing.
final class ShapeProgram: Sendable {
    struct Node: Sendable {
        var kind: Shape.Kind
        var isNullable: Bool
        /// Whether the value must not appear in messages: personal data, ciphertext, or anything inside them.
        var isSecret: Bool
        var format: Shape.Format?
        /// The range of its members in `members`.
        var members = 0 ..< 0
        var requiredCount = 0
        /// The node of every element or map value; -1 if there is none.
        var inner = -1
        /// The range of canonical texts in `choices`; nil if any value is allowed.
        var choices: Range<Int>?
        /// The bounds of a length or of a number of elements.
        var least = 0
        var most = Int.max
        /// Indexes into `bounds`; -1 if there is none.
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
    /// The UTF-8 of all member names.
    let names: [UInt8]
    /// The indexes of each node's members in its range of `members`, by the length of their names, then by their bytes.
    let byName: [Int]
    let choices: [[UInt8]]
    let bounds: [Bound]

    init(_ shape: Shape) {
        var layout = Layout()
        _ = layout.add(shape, isSecret: false)
        (nodes, members, names, byName) = (layout.nodes, layout.members, layout.names, layout.byName)
        (choices, bounds) = (layout.choices, layout.bounds)
    }

    private struct Layout {
        var nodes: [Node] = []
        var members: [Member] = []
        var names: [UInt8] = []
        var byName: [Int] = []
        var choices: [[UInt8]] = []
        var bounds: [Bound] = []

        mutating func add(_ shape: Shape, isSecret: Bool) -> Int {
            let index = nodes.count
            let isSecret = isSecret || shape.isPersonal || shape.isSealed
            var node = Node(kind: shape.kind, isNullable: shape.isNullable, isSecret: isSecret, format: shape.format)
            nodes.append(node)

            // Order: the members of a node are consecutive, so they are laid out before their contents.
            let first = members.count
            for property in shape.properties {
                let start = names.count
                names += Array(property.name.utf8)
                members.append(Member(name: start ..< names.count, node: -1, isRequired: shape.required.contains(property.name)))
            }
            node.members = first ..< members.count
            byName += node.members.sorted { left, right in
                let (left, right) = (names[members[left].name], names[members[right].name])
                return left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
            }
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
