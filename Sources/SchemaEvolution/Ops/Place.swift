internal import JSONText

/// Where a member stands on one side of an op, and what becomes of the objects that hold it. That is
/// decided from the shapes of both sides, so that the same event always comes out the same.
final class Place: Sendable {
    let pointer: JSONPointer
    let name: MemberName
    private let parent: Parent?

    /// - Parameters:
    ///   - here: the shape on the side that has the member.
    ///   - there: the shape on the other side.
    ///   - isConstant: whether the value is always there: parents that are new with it are made always, and parents that
    ///     need not be there are left alone.
    init?(_ pointer: JSONPointer, here: Shape, there: Shape, isConstant: Bool = false) {
        guard let name = pointer.last else { return nil }
        (self.pointer, self.name) = (pointer, name)
        var innermost: Parent?
        for depth in 1 ..< max(pointer.tokens.count, 1) {
            let parent = JSONPointer(tokens: Array(pointer.tokens.prefix(depth)))
            let (isRequired, isNew) = (here.isRequired(at: parent), there.shape(at: parent)?.kind != .object)
            let isOptionalThere = !isNew && !there.isRequired(at: parent)
            let pruning: Parent.Pruning =
                if isNew || isOptionalThere && isRequired { .always } else { isOptionalThere && !isConstant ? .afterTaking : .never }
            innermost = Parent(
                name: pointer.tokens[depth - 1], outer: innermost, isMade: isRequired || isConstant && isNew, pruning: pruning)
        }
        parent = innermost
    }

    /// Whether no object holds it but the event's own.
    var isAtTop: Bool { parent == nil }

    func find<D: Document & ~Copyable>(in doc: inout D, at object: D.Node) -> D.Node? {
        guard let parent else { return doc.member(name, of: object) }
        guard let holder = parent.find(in: &doc, at: object) else { return nil }
        return doc.member(name, of: holder)
    }

    /// The object that holds the member, with what has to be made on the way to it; nil where it is
    /// not there and this side does not need it.
    func holder<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, forValue: Bool) -> D.Node? {
        guard let parent else { return object }
        return parent.findOrMake(in: &doc, at: object, forValue: forValue)
    }

    /// Takes out the parents that the other side does not have and that are empty now; `taken`: because of the member.
    func prune<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, taken: Bool) {
        parent?.prune(in: &doc, at: object, taken: taken)
    }

    /// Takes the member out, with the parents that go with it, and returns it.
    func take<D: Document & ~Copyable>(from doc: inout D, at object: D.Node) -> D.Node? {
        let node = find(in: &doc, at: object)
        if let node { doc.detach(node) }
        prune(in: &doc, at: object, taken: node != nil)
        return node
    }

    /// Puts a detached value in, or nothing, with the parents that this side needs.
    func put<D: Document & ~Copyable>(_ node: D.Node?, into doc: inout D, at object: D.Node) {
        let holder = holder(in: &doc, at: object, forValue: node != nil)
        if let node, let holder { doc.attach(node, as: name, to: holder) }
    }
}

/// An object on the way to a place.
//
// Each knows the one around it, so that the way is walked without counting references.
private final class Parent: Sendable {
    /// Whether it is taken out once it is empty.
    enum Pruning {
        /// The other side always has it, or has it whatever becomes of the member.
        case never
        /// Either side may have it empty: one that was empty before stays, or going there and back would change the image.
        case afterTaking
        /// The other side does not have it.
        case always
    }

    private let name: MemberName
    private let outer: Parent?
    /// This side always has it: made also where there is no value.
    private let isMade: Bool
    private let pruning: Pruning

    init(name: MemberName, outer: Parent?, isMade: Bool, pruning: Pruning) {
        (self.name, self.outer, self.isMade, self.pruning) = (name, outer, isMade, pruning)
    }

    func find<D: Document & ~Copyable>(in doc: inout D, at object: D.Node) -> D.Node? {
        guard let outer else { return doc.member(name, of: object) }
        guard let holder = outer.find(in: &doc, at: object) else { return nil }
        return doc.member(name, of: holder)
    }

    func findOrMake<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, forValue: Bool) -> D.Node? {
        var holder = object
        if let outer {
            guard let made = outer.findOrMake(in: &doc, at: object, forValue: forValue) else { return nil }
            holder = made
        }
        if let found = doc.member(name, of: holder) {
            // Data that no shape was asked about may have anything here; the image is then no event of its shape.
            if case .object = doc.kind(found) { return found } else { return nil }
        }
        return forValue || isMade ? doc.addObject(name, to: holder) : nil
    }

    func prune<D: Document & ~Copyable>(in doc: inout D, at object: D.Node, taken: Bool) {
        if pruning == .always || pruning == .afterTaking && taken, let node = find(in: &doc, at: object),
            case .object = doc.kind(node), doc.isEmpty(node)
        {
            doc.detach(node)
        }
        outer?.prune(in: &doc, at: object, taken: taken)
    }
}
