package import Bytes
internal import EventModel
package import JSONText

/// The locations of personal values in a type's payloads, and the substitutes for values that were forgotten.
///
/// Make it once for a shape. A payload is walked over once and copied verbatim, except for these values.
package struct PersonalMembers: Sendable {
    /// The kind of value that replaces a personal value.
    package enum Substitute: CaseIterable, Sendable {
        /// Null if the shape allows it, else an empty text if it fits, else the sample.
        case emptiest
        /// The simplest value that fits.
        case sample
    }

    private enum Node {
        case plain
        /// A personal value, which is replaced by one of these texts.
        case personal(emptiest: [UInt8], sample: [UInt8])
        /// The nodes of an object's members by name; `others` applies to members without a node.
        case object([[UInt8]: Int], others: Int?)
        case array(Int)
    }

    private var nodes: [Node] = []

    /// Nil if no member is personal.
    package init?(_ shape: EventShape) {
        guard shape.hasPersons else { return nil }
        _ = add(shape.shape)
    }

    private mutating func add(_ shape: Shape) -> Int {
        let index = nodes.count
        nodes.append(.plain)
        if shape.isPersonal {
            nodes[index] = .personal(emptiest: Array(shape.emptiest.text.utf8), sample: Array(shape.sample.text.utf8))
        } else if let others = shape.additional {
            if others.hasPersons { nodes[index] = .object([:], others: add(others)) }
        } else if let items = shape.items {
            if items.hasPersons { nodes[index] = .array(add(items)) }
        } else {
            var members: [[UInt8]: Int] = [:]
            for property in shape.properties where property.shape.hasPersons { members[Array(property.name.utf8)] = add(property.shape) }
            if !members.isEmpty { nodes[index] = .object(members, others: nil) }
        }
        return index
    }

    /// Appends a valid payload with personal values replaced. Returns false if there were none, or only values that equal their
    /// substitutes.
    package func leaveOut(of payload: RawSpan, by substitute: Substitute, into rest: inout ByteBuffer) -> Bool {
        var copy = Copy(walk: JSONWalker(payload), substitute: substitute)
        copy.walk.skipSpaces()
        replace(0, &copy, into: &rest)
        rest.append(payload.slice(copy.copied, payload.byteCount - copy.copied))
        return copy.isChanged
    }

    private struct Copy: ~Escapable {
        var walk: JSONWalker
        let substitute: Substitute
        /// The offset up to which the text has been copied or replaced.
        var copied = 0
        var isChanged = false

        @_lifetime(copy walk)
        init(walk: JSONWalker, substitute: Substitute) { (self.walk, self.substitute) = (walk, substitute) }
    }

    /// Processes the value that begins at the walker's offset, and moves behind it.
    private func replace(_ node: Int, _ copy: inout Copy, into rest: inout ByteBuffer) {
        switch nodes[node] {
        case .personal(let emptiest, let sample):
            let value = copy.walk.skipValue()
            if value.kind == .null || copy.walk.isMalformed { return }
            let substitute = copy.substitute == .emptiest ? emptiest : sample
            if copy.walk.text.slice(value.start, value.count).equals(substitute.lent) { return }
            rest.append(copy.walk.text.slice(copy.copied, value.start - copy.copied))
            rest.append(substitute)
            (copy.copied, copy.isChanged) = (value.end, true)
        case .object(let members, let others) where copy.walk.enterObject():
            while let name = copy.walk.nextName() {
                if let node = others ?? members[Self.text(of: name, in: copy.walk.text)] {
                    replace(node, &copy, into: &rest)
                } else {
                    _ = copy.walk.skipValue()
                }
            }
        case .array(let items) where copy.walk.enterArray():
            while copy.walk.nextElement() { replace(items, &copy, into: &rest) }
        default: _ = copy.walk.skipValue()
        }
    }

    private static func text(of name: JSONExtent, in text: RawSpan) -> [UInt8] {
        let literal = text.slice(name.start + 1, name.end - name.start - 2)
        guard name.hasEscapes else { return [UInt8](copying: literal) }
        var plain = ByteBuffer(capacity: literal.byteCount)
        appendUnescaped(literal, into: &plain)
        return plain.array()
    }
}

extension EventShape {
    package var hasPersons: Bool { shape.hasPersons }

    /// Pairs of examples of payloads that differ in personal values alone.
    package var personalExamples: [(payload: [UInt8], other: [UInt8])] {
        guard let persons = PersonalMembers(self) else { return [] }
        return ShapeExamples(of: shape).texts.compactMap { payload in
            var other = ByteBuffer()
            return persons.leaveOut(of: payload.lent, by: .sample, into: &other) ? (payload, other.array()) : nil
        }
    }
}

extension Shape {
    /// Whether the value is personal, or may contain a personal value.
    var hasPersons: Bool {
        isPersonal || properties.contains { $0.shape.hasPersons } || items?.hasPersons == true || additional?.hasPersons == true
    }

    /// The value that replaces a forgotten one, if its event then has the images that it needs.
    fileprivate var emptiest: JSONValue { isNullable ? .null : rejection(of: .string("")) == nil ? .string("") : sample }

    /// The personal values within a value.
    /// - Parameter withPlainest: false to leave out those that may be in the place of a forgotten one.
    package func persons(in value: JSONValue, withPlainest: Bool) -> [JSONValue] {
        if isPersonal { return withPlainest || ![.null, emptiest, sample].contains(value) ? [value] : [] }
        switch value {
        case .object(let members):
            return members.flatMap { member -> [JSONValue] in
                let shape = additional ?? property(member.name)
                return shape?.persons(in: member.value, withPlainest: withPlainest) ?? []
            }
        case .array(let elements): return elements.flatMap { items?.persons(in: $0, withPlainest: withPlainest) ?? [] }
        default: return []
        }
    }

    /// Whether the member at a pointer, or one that contains it, is personal.
    package func isPersonal(at pointer: JSONPointer) -> Bool {
        pointer.prefixes.contains { shape(at: $0)?.isPersonal == true }
    }
}
