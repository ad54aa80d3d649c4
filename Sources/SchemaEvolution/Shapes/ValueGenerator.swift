internal import JSONText

/// Generates values of shapes. Conforming types decide what a shape leaves open.
protocol ValueGenerator {
    /// How many more values and characters may be generated, since a shape may require more than an event can hold.
    var budget: Int { get set }
    /// A value for a pointer that overrides the shape's kind, constant or enum; nil to follow them.
    mutating func preset(for shape: Shape, at pointer: JSONPointer) -> JSONValue?
    mutating func word(of enumeration: [JSONValue]) -> JSONValue
    /// The members that an object gets.
    mutating func members(of object: Shape) -> [Shape.Property]
    mutating func names(of map: Shape) -> [String]
    /// The number of elements of a list: `least` or more.
    mutating func count(of list: Shape, least: Int) -> Int
    mutating func text(_ shape: Shape) -> String
    /// The JSON text of an integer or of another number.
    mutating func number(_ shape: Shape) -> String
    mutating func boolean() -> Bool
    mutating func anything() -> JSONValue
}

extension ValueGenerator {
    static var budgetMax: Int { 100_000 }

    /// A payload of a shape.
    mutating func payload(of shape: Shape) -> JSONValue {
        budget = Self.budgetMax
        return value(shape, at: JSONPointer())
    }

    /// A value for a pointer in a payload; `*` stands for each element of a list or map.
    mutating func value(_ shape: Shape, at pointer: JSONPointer) -> JSONValue {
        budget -= 1
        if let preset = preset(for: shape, at: pointer) { return preset }
        if let constant = shape.constant { return constant }
        if let words = shape.enumeration, !words.isEmpty { return word(of: words) }
        switch shape.kind {
        case .object:
            var made: [JSONValue.Member] = []
            if let values = shape.additional {
                for name in names(of: shape) { made.append(.init(name: name, value: value(values, at: pointer.appending("*")))) }
            } else {
                for property in members(of: shape) {
                    made.append(.init(name: property.name, value: value(property.shape, at: pointer.appending(property.name))))
                }
            }
            return .object(made)
        case .array:
            var made: [JSONValue] = []
            for _ in 0 ..< count(of: shape, least: min(shape.minItems ?? 0, max(budget, 0))) {
                made.append(value(shape.items ?? .any, at: pointer.appending("*")))
            }
            return .array(made)
        case .string:
            let text = text(shape)
            budget -= text.unicodeScalars.count
            return .string(text)
        case .integer, .number: return .number(number(shape))
        case .boolean: return .bool(boolean())
        case .null: return .null
        case .any: return anything()
        }
    }

    /// The minimum number of characters of a text, within the budget.
    func leastLength(of text: Shape) -> Int { min(text.minLength ?? 0, max(budget, 0)) }
}
