internal import EventModel

/// The members of an object in the order of the file, found by their names.
package struct ShapeMembers: Hashable, Sendable {
    package private(set) var list: [Shape.Property] = []
    /// The first place of each name in the list; empty if the list is short, which takes no more time to search.
    private var places: [Name: Int] = [:]

    /// The longest list that is searched.
    private static let searchedMax = 16

    package init(_ list: [Shape.Property] = []) {
        self.list = list
        index()
    }

    package static func == (left: ShapeMembers, right: ShapeMembers) -> Bool { left.list == right.list }

    package func hash(into hasher: inout Hasher) { hasher.combine(list) }

    package func place(of name: String) -> Int? {
        // Searches indices, since a property is large and `first(where:)` would copy each one.
        places.isEmpty ? list.indices.first { list[$0].name.isSame(as: name) } : places[name]
    }

    package mutating func append(_ member: Shape.Property) {
        list.append(member)
        if places.isEmpty { index() } else if places[member.name] == nil { places[member.name] = list.count - 1 }
    }

    @discardableResult
    package mutating func remove(_ name: String) -> Shape.Property? {
        guard let place = place(of: name) else { return nil }
        let member = list.remove(at: place)
        places = [:]
        index()
        return member
    }

    /// Changes the shape of the member at a place.
    package mutating func edit<Result>(_ place: Int, _ change: (inout Shape) -> Result) -> Result { change(&list[place].shape) }

    private mutating func index() {
        if list.count <= Self.searchedMax { return }
        places = Dictionary(list.indices.map { (Name(list[$0].name), $0) }, uniquingKeysWith: { first, _ in first })
    }
}
