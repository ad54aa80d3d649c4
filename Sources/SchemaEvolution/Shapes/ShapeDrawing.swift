internal import JSONText

/// Makes values for shapes: who adopts it chooses wherever a shape leaves a choice.
protocol ShapeDrawing {
    /// How many more values and characters there may be: a shape can ask for more than any event may hold.
    var room: Int { get set }
    /// What stands at a place whatever its shape's kind, constant or enum; nil for what these say.
    mutating func choice(for shape: Shape, at pointer: JSONPointer) -> JSONValue?
    mutating func word(of enumeration: [JSONValue]) -> JSONValue
    /// Which of an object's members are there.
    mutating func members(of object: Shape) -> [Shape.Property]
    mutating func names(of map: Shape) -> [String]
    /// How many elements a list has, at least as many as are asked for.
    mutating func count(of list: Shape, least: Int) -> Int
    mutating func text(_ shape: Shape) -> String
    /// An integer's or another number's text.
    mutating func number(_ shape: Shape) -> String
    mutating func flag() -> Bool
    mutating func anything() -> JSONValue
}

extension ShapeDrawing {
    static var roomMax: Int { 100_000 }

    /// A whole payload.
    mutating func drawn(_ shape: Shape) -> JSONValue {
        room = Self.roomMax
        return value(shape, at: JSONPointer())
    }

    /// A value for a place in a payload; `*` stands for each element of a list or map.
    mutating func value(_ shape: Shape, at pointer: JSONPointer) -> JSONValue {
        room -= 1
        if let choice = choice(for: shape, at: pointer) { return choice }
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
            for _ in 0 ..< count(of: shape, least: min(shape.minItems ?? 0, max(room, 0))) {
                made.append(value(shape.items ?? .any, at: pointer.appending("*")))
            }
            return .array(made)
        case .string:
            let text = text(shape)
            room -= text.unicodeScalars.count
            return .string(text)
        case .integer, .number: return .number(number(shape))
        case .boolean: return .bool(flag())
        case .null: return .null
        case .any: return anything()
        }
    }

    /// How many characters a text has at least.
    func leastLength(of text: Shape) -> Int { min(text.minLength ?? 0, max(room, 0)) }
}
