internal import JSONText

/// The location of a member on one side of an op, with the rules for the objects around it. The shapes of both sides determine these rules,
/// not the event, so that the result for an event is unique.
final class MemberLocation: Sendable {
    let pointer: JSONPointer
    let name: MemberName
    /// The object around the member; nil at the top.
    //
    // Each refers to the one around it, so that following them causes no reference counting.
    private let outer: MemberLocation?
    /// Whether this side always has the object around other members, so that it is created even without a value.
    private let isMade: Bool
    private let pruning: Pruning

    /// When the object around other members is removed if it is empty.
    private enum Pruning {
        /// Never: the other side has it with or without the member.
        case never
        /// Both sides may have it empty: it is removed only if the op has emptied it, so that an originally empty object survives a round
        /// trip.
        case afterTaking
        /// Always: the other side does not have it.
        case always
    }

    /// - Parameters:
    ///   - here: the shape on the side that has the member.
    ///   - there: the shape on the other side.
    ///   - isConstant: whether the member has a value in every event. Objects that are new with it are then always created, and optional
    ///     objects are left alone.
    init?(_ pointer: JSONPointer, here: Shape, there: Shape, isConstant: Bool = false) {
        guard let name = pointer.last else { return nil }
        (self.pointer, self.name) = (pointer, name)
        outer = pointer.parent.flatMap { MemberLocation($0, here: here, there: there, isConstant: isConstant) }
        let (isRequired, isNew) = (here.isRequired(at: pointer), there.shape(at: pointer)?.kind != .object)
        let isOptionalThere = !isNew && !there.isRequired(at: pointer)
        isMade = isRequired || isConstant && isNew
        pruning = if isNew || isOptionalThere && isRequired { .always } else { isOptionalThere && !isConstant ? .afterTaking : .never }
    }

    func find<D: Document & ~Copyable>(in doc: inout D, at object: D.Node) -> D.Node? {
        guard let outer else { return doc.member(name, of: object) }
        guard let holder = outer.find(in: &doc, at: object) else { return nil }
        return doc.member(name, of: holder)
    }

    /// The object that contains the member. Creates it and the objects around it if this side needs them; nil if it is absent and not
    /// needed.
    func holder<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, forValue: Bool) -> D.Node? {
        guard let outer else { return object }
        return outer.findOrMake(in: &doc, at: object, forValue: forValue)
    }

    private func findOrMake<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, forValue: Bool) -> D.Node? {
        guard let holder = holder(in: &doc, at: object, forValue: forValue) else { return nil }
        if let found = doc.member(name, of: holder) {
            // Data from before versions existed may have any value here; the image then does not fit its shape.
            if case .object = doc.kind(found) { return found } else { return nil }
        }
        return forValue || isMade ? doc.addObject(name, to: holder) : nil
    }

    /// Removes the objects around the member that are empty and that the other side does not have.
    /// - Parameter taken: whether the member was removed from them.
    func prune<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, taken: Bool) {
        guard let outer else { return }
        if outer.pruning == .always || outer.pruning == .afterTaking && taken, let node = outer.find(in: &doc, at: object),
            case .object = doc.kind(node), doc.isEmpty(node)
        {
            doc.detach(node)
        }
        outer.prune(in: &doc, at: object, taken: taken)
    }

    /// Detaches the member, prunes the objects around it and returns it; nil if it is absent.
    func take<D: Document & ~Copyable>(from doc: inout D, at object: D.Node) -> D.Node? {
        let node = find(in: &doc, at: object)
        if let node { doc.detach(node) }
        prune(in: &doc, at: object, taken: node != nil)
        return node
    }

    func remove<D: Document & ~Copyable>(from doc: inout D, at object: D.Node) {
        if outer != nil {
            _ = take(from: &doc, at: object)
        } else if let node = doc.child(name, of: object) {
            doc.detach(node)
        }
    }

    /// Attaches a detached value, if any, and creates the objects that this side needs.
    /// - Returns: false if the value could not be placed because a value around it is not an object.
    @discardableResult
    func put<D: Document & ~Copyable>(_ node: D.Node?, into doc: inout D, at object: D.Node) -> Bool {
        let holder = holder(in: &doc, at: object, forValue: node != nil)
        guard let node, let holder else { return node == nil }
        doc.attach(node, as: name, to: holder)
        return true
    }
}
