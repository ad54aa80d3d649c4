internal import EventModel
package import JSONText

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
}
