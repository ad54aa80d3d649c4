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
        package var name: String
        package var shape: Shape

        package init(_ name: String, _ shape: Shape) { (self.name, self.shape) = (name, shape) }

        package static func == (left: Property, right: Property) -> Bool {
            left.name.isSame(as: right.name) && left.shape == right.shape
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(shape)
        }
    }

    package var kind: Kind
    /// Whether null is valid too.
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
    /// The value is personal data.
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

    /// The shape with its members sorted by name.
    package var ordered: Shape {
        var shape = self
        shape.properties = properties.map { Property($0.name, $0.shape.ordered) }.sorted { $0.name < $1.name }
        shape.inner = inner.map(\.ordered)
        return shape
    }

    /// The shape of a member of an object.
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
