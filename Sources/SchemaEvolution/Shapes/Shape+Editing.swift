internal import EventModel
package import JSONText

/// Looks up and edits members by pointer. Pointers lead only through named members of objects, never into arrays or maps.
extension Shape {
    package func shape(at pointer: JSONPointer) -> Shape? { shape(at: pointer.tokens[...]) }

    private func shape(at tokens: ArraySlice<MemberName>) -> Shape? {
        guard let first = tokens.first else { return self }
        return property(first.text)?.shape(at: tokens.dropFirst())
    }

    /// The shape at a pointer, which may also lead through maps and through values of any kind.
    package func at(_ pointer: JSONPointer) -> Shape? {
        var shape = self
        for token in pointer.tokens {
            if shape.kind == .any { return .any }
            guard let inner = shape.property(token.text) ?? shape.additional else { return nil }
            shape = inner
        }
        return shape
    }

    /// Whether the object that contains the member requires it; always true for the root.
    package func isRequired(at pointer: JSONPointer) -> Bool {
        guard let name = pointer.last, let parent = pointer.parent else { return true }
        return shape(at: parent)?.required.contains(name.text) ?? false
    }

    /// Whether every event has the member: it and all objects around it are required and never null.
    package func isAlwaysPresent(at pointer: JSONPointer) -> Bool {
        var object = self
        for name in pointer.tokens {
            guard !object.isNullable, object.required.contains(name.text), let next = object.property(name.text) else { return false }
            object = next
        }
        return true
    }

    /// Appends a member to an object. Returns false if the object does not exist or already has the member.
    package mutating func insert(_ shape: Shape, at pointer: JSONPointer, required: Bool) -> Bool {
        guard let name = pointer.last?.text else { return false }
        return editParent(of: pointer) { parent in
            guard parent.kind == .object, !parent.isMap, parent.members.place(of: name) == nil else { return false }
            parent.members.append(Property(name, shape))
            if required { parent.required.insert(name) }
            return true
        }
    }

    /// Removes a member and returns its shape; nil if it does not exist.
    @discardableResult
    package mutating func remove(at pointer: JSONPointer) -> (shape: Shape, required: Bool)? {
        guard let name = pointer.last?.text else { return nil }
        var taken: (shape: Shape, required: Bool)?
        _ = editParent(of: pointer) { parent in
            guard let member = parent.members.remove(name) else { return false }
            taken = (member.shape, parent.required.remove(Name(name)) != nil)
            return true
        }
        return taken
    }

    /// Replaces a member's shape, or the root. `required` is unchanged if nil. Returns false if the member does not exist.
    package mutating func replace(at pointer: JSONPointer, with shape: Shape, required: Bool? = nil) -> Bool {
        guard let name = pointer.last?.text else {
            self = shape
            return true
        }
        return editParent(of: pointer) { parent in
            guard let place = parent.members.place(of: name) else { return false }
            parent.members.edit(place) { $0 = shape }
            switch required {
            case true?: parent.required.insert(name)
            case false?: parent.required.remove(Name(name))
            case nil: break
            }
            return true
        }
    }

    private mutating func editParent(of pointer: JSONPointer, _ edit: (inout Shape) -> Bool) -> Bool {
        reach(pointer.tokens.dropLast(), edit)
    }

    private mutating func reach(_ tokens: ArraySlice<MemberName>, _ edit: (inout Shape) -> Bool) -> Bool {
        guard let first = tokens.first else { return edit(&self) }
        guard let place = members.place(of: first.text) else { return false }
        return members.edit(place) { $0.reach(tokens.dropFirst(), edit) }
    }
}
