internal import Bytes
package import EventModel
package import JSONText

/// The set of valid values, in a closed subset of JSON Schema 2020-12 with all references resolved.
package struct Shape: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable { case object, array, string, integer, number, boolean, null, any }

    package enum Format: String, Hashable, Sendable, CaseIterable {
        case dateTime = "date-time"
        case date
    }

    package struct Property: Hashable, Sendable {
        private let key: Name
        package var shape: Shape

        package init(_ name: String, _ shape: Shape) { (key, self.shape) = (Name(name), shape) }

        package var name: String { key.text }
    }

    package var kind: Kind
    package var isNullable = false
    /// An object's members; others are not allowed.
    package var members = ShapeMembers()
    package var required: Set<Name> = []
    package var minItems, maxItems: Int?
    /// The length in Unicode code points.
    package var minLength, maxLength: Int?
    package var minimum, maximum: DecimalNumber?
    package var enumeration: [JSONValue]?
    package var constant: JSONValue?
    package var format: Format?
    /// The value is ciphertext that the application made.
    package var isSealed = false
    package var isPersonal = false
    package var defaultValue: JSONValue?
    package var isDeprecated = false
    package var description: String?

    // Contains one shape or none; an array, because a struct can't contain itself.
    private var inner: [Shape] = []

    package init(_ kind: Kind) { self.kind = kind }

    package static let any = Shape(.any)

    package static func object(_ properties: [Property], required: Set<Name>? = nil) -> Shape {
        var shape = Shape(.object)
        shape.properties = properties
        shape.required = required ?? Set(of: properties.map(\.name))
        return shape
    }

    package static func array(of items: Shape) -> Shape {
        var shape = Shape(.array)
        shape.items = items
        return shape
    }

    /// An object's members as a list. Members are changed in `members`, since every change of this list makes a new index.
    package var properties: [Property] {
        get { members.list }
        set { members = ShapeMembers(newValue) }
    }

    /// The shape of every value of an object without named members (a map); nil for a closed object.
    package var additional: Shape? {
        get { kind == .object ? inner.first : nil }
        set { inner = newValue.map { [$0] } ?? [] }
    }

    /// The shape of every element of an array; nil if any element is valid.
    package var items: Shape? {
        get { kind == .array ? inner.first : nil }
        set { inner = newValue.map { [$0] } ?? [] }
    }

    /// The shape with its members sorted by name, after a change of it and of all shapes inside it.
    func ordered(_ change: (inout Shape) -> Void = { _ in }) -> Shape {
        var shape = self
        shape.properties = properties.map { Property($0.name, $0.shape.ordered(change)) }.sorted { Name($0.name) < Name($1.name) }
        shape.inner = inner.map { $0.ordered(change) }
        change(&shape)
        return shape
    }

    package func property(_ name: String) -> Shape? { members.place(of: name).map { members.list[$0].shape } }

    package var isMap: Bool { additional != nil }

    /// Whether the value is a text, a number, a boolean or null.
    package var isScalar: Bool {
        switch kind {
        case .string, .integer, .number, .boolean, .null: true
        case .object, .array, .any: false
        }
    }
}

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

    package mutating func edit<Result>(_ place: Int, _ change: (inout Shape) -> Result) -> Result { change(&list[place].shape) }

    private mutating func index() {
        if list.count <= Self.searchedMax { return }
        places = Dictionary(list.indices.map { (Name(list[$0].name), $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// Looks up and edits members by pointer. Pointers lead only through named members of objects, never into arrays or maps.
extension Shape {
    package func shape(at pointer: JSONPointer) -> Shape? { pointer.tokens.reduce(self) { $0?.property($1.text) } }

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
        return edit(pointer.tokens.dropLast()) { parent in
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
        _ = edit(pointer.tokens.dropLast()) { parent in
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
        return edit(pointer.tokens.dropLast()) { parent in
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

    private mutating func edit(_ tokens: ArraySlice<MemberName>, _ change: (inout Shape) -> Bool) -> Bool {
        guard let first = tokens.first else { return change(&self) }
        guard let place = members.place(of: first.text) else { return false }
        return members.edit(place) { $0.edit(tokens.dropFirst(), change) }
    }
}

extension Shape {
    /// The shape in the form of a JSON version file, with all references resolved.
    package var canonical: JSONValue {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue?) {
            if let value { members.append(.init(name: name, value: value)) }
        }
        func number(_ value: Int?) -> JSONValue? { value.map { .number(String($0)) } }
        func flag(_ value: Bool) -> JSONValue? { value ? .bool(true) : nil }

        if kind == .any {
            add("any", .bool(true))
        } else {
            add("type", isNullable ? .array([.string(kind.rawValue), .string("null")]) : .string(kind.rawValue))
        }
        add("format", format.map { .string($0.rawValue) })
        add("enum", enumeration.map { .array($0) })
        add("const", constant)
        add("minimum", minimum.map { .number($0.description) })
        add("maximum", maximum.map { .number($0.description) })
        add("minLength", number(minLength))
        add("maxLength", number(maxLength))
        add("minItems", number(minItems))
        add("maxItems", number(maxItems))
        add("default", defaultValue)
        add("personal", flag(isPersonal))
        add("sealed", flag(isSealed))
        add("deprecated", flag(isDeprecated))
        add("description", description.map { .string($0) })
        if !required.isEmpty {
            add("required", .array(properties.map(\.name).filter(required.contains).map { .string($0) }))
        }
        add("items", items?.canonical)
        add("additionalProperties", additional?.canonical)
        if !properties.isEmpty {
            add("properties", .object(properties.map { .init(name: $0.name, value: $0.shape.canonical) }))
        }
        return .object(members)
    }

    /// The upper limit of `bytesLeast`: samples and generated events are values of shapes and must fit into memory.
    static let bytesMax = 1 << 20

    /// The minimum length of the JSON text of a value with all members, ignoring null; `Int.max` if it exceeds the range.
    var bytesLeast: Int {
        switch kind {
        case .string: (minLength ?? 0).plus(2)
        case .array: (minItems ?? 0).times((items?.bytesLeast ?? 1).plus(1)).plus(2)
        case .object: properties.sum { $0.name.utf8.count.plus($0.shape.bytesLeast) }.plus(2)
        case .integer, .number, .boolean, .null, .any: 1
        }
    }
}
