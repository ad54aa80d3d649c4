package import EventModel
package import JSONText
package import SchemaEvolution

/// A description, member by member, of what happens to an event of a type between two versions.
package struct Explanation: Sendable {
    /// A change by the step to a version, in either direction.
    package struct Change: Hashable, Sendable {
        package let version: SchemaVersion
        package let words: String
    }

    package struct Member: Sendable {
        /// Its pointer at `from`; nil if it is new.
        package let before: JSONPointer?
        /// Its pointer at `to`; nil if it is gone.
        package let after: JSONPointer?
        /// Its type at `from` and at `to`, such as `string` or `optional integer`.
        package let wasNoun, noun: String?
        package let changes: [Change]
    }

    /// One of the events that it can become.
    package struct Outcome: Sendable {
        /// Nil if there is no image.
        package let type: String?
        package let stream: String?
        /// What happens to the event as a whole.
        package let changes: [Change]
        package let members: [Member]
    }

    package let type: String
    package let from, to: SchemaVersion
    /// Several if the event is split or if its type depends on a member.
    package let outcomes: [Outcome]
    /// Why events of the type can't be converted in one pass; nil if they can.
    package let opByOp: SlowPathReport?
}

extension History {
    /// What happens to an event of a type between two versions, given in either order; from version 0, to old data of any type.
    /// - Throws: `unknownVersion`, `unknownType`, or `schemaInvalid` if the steps in between have errors.
    package func explain(_ type: String, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> Explanation {
        guard self[to] != nil else { throw unknown(to.description) }
        let adoption = from.number == 0 ? Adoption(versions.first) : nil
        let shape = adoption == nil ? try requireShape(of: type, at: from) : nil
        // Order: this comes first, since an op that can't be bound has no effect to explain; its finding says why.
        let errors = ((adoption?.findings ?? []) + stepFindings(from: from, to: to)).filter { $0.severity == .error }
        if !errors.isEmpty { throw .schemaInvalid(errors) }
        var explainer = Explainer(self, type, from, to)
        let outcomes = adoption.map { explainer.run($0) } ?? shape.map { explainer.run($0) } ?? []
        return Explanation(
            type: type, from: from, to: to, outcomes: outcomes, opByOp: try opByOp(type, born: from, to: to))
    }
}

extension Shape {
    /// Pointers to the members that hold values: members of objects, of list elements and of map values.
    var leaves: [JSONPointer] {
        var found: [JSONPointer] = []
        func visit(_ shape: Shape, _ place: JSONPointer) {
            if shape.kind == .object, !shape.isMap, !shape.properties.isEmpty {
                for property in shape.properties { visit(property.shape, place.appending(property.name)) }
                return
            }
            if !place.isRoot { found.append(place) }
            guard let inner = shape.items ?? shape.additional, inner.kind == .object, !inner.isMap else { return }
            for property in inner.properties { visit(property.shape, place.appending("*").appending(property.name)) }
        }
        visit(self, JSONPointer())
        return found
    }

    /// The shape at a pointer whose token `*` stands for every element or value.
    func shape(within place: JSONPointer) -> (shape: Shape, isRequired: Bool)? {
        var (shape, isRequired) = (self, true)
        for token in place.tokens {
            if let member = shape.property(token.text) {
                isRequired = isRequired && shape.required.contains(token.text)
                shape = member
            } else if token.text == "*", let inner = shape.items ?? shape.additional {
                (shape, isRequired) = (inner, true)
            } else {
                return nil
            }
        }
        return (shape, isRequired)
    }

    /// A description of a member's type: `optional string or null`.
    func memberNoun(at place: JSONPointer) -> String? {
        guard let (shape, isRequired) = shape(within: place) else { return nil }
        let format = shape.format.map { " (\($0.rawValue))" } ?? ""
        return (isRequired ? "" : "optional ") + shape.bareNoun + format + (shape.isNullable ? " or null" : "")
    }

    private var bareNoun: String {
        switch kind {
        case .object: isMap ? "map" : "object"
        case .array: "list" + (items.map { " of \($0.bareNoun)s" } ?? "")
        case .any: "anything"
        default: kind.rawValue
        }
    }
}
