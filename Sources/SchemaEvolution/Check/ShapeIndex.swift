internal import EventModel
internal import JSONText

/// A cache of the members of a shape, by pointer.
final class ShapeIndex {
    private let shape: Shape
    private var known: [JSONPointer: [Name: Shape]] = [:]

    init(_ shape: Shape) { self.shape = shape }

    func shape(at pointer: JSONPointer) -> Shape? {
        guard let parent = pointer.parent, let name = pointer.last?.text else { return shape }
        if let members = known[parent] { return members[name] }
        let holder = shape.shape(at: parent)
        let members = Dictionary((holder?.properties ?? []).map { (Name($0.name), $0.shape) }, uniquingKeysWith: { first, _ in first })
        known[parent] = members
        return members[name]
    }
}
