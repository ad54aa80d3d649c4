internal import Bytes
internal import EventModel
package import JSONText

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

extension Shape {
    /// The simplest value that fits; fixes use it until the author chooses another.
    package var sample: JSONValue {
        var generator = SampleGenerator()
        return generator.payload(of: self)
    }

    /// An empty text if this shape accepts it and the other one refuses it, so that it can stand for an empty list; otherwise the sample.
    package func sample(refusedBy other: Shape?) -> JSONValue {
        let nothing = JSONValue.string("")
        return rejection(of: nothing) == nil && other?.rejection(of: nothing) != nil ? nothing : sample
    }

    /// The value that fits and is nearest to a given value; for an object, the members that fit are kept.
    func nearestValue(to value: JSONValue) -> JSONValue {
        if rejection(of: value) == nil { return value }
        guard kind == .object, case .object(let members) = value else { return nearestValue(to: value.word) }
        return .object(
            properties.compactMap { property in
                let given = members.first { $0.name.isSame(as: property.name) }.map { property.shape.nearestValue(to: $0.value) }
                return (given ?? (required.contains(property.name) ? property.shape.sample : nil)).map {
                    .init(name: property.name, value: $0)
                }
            })
    }

    /// The enum value that is nearest to a text, otherwise the sample.
    package func nearestValue(to text: String) -> JSONValue {
        let words = (enumeration ?? []).map(\.word)
        if let word = nearest(to: text, among: words), let value = enumeration?.first(where: { $0.word == word }) { return value }
        return sample
    }
}

private struct SampleGenerator: ValueGenerator {
    var budget = 0

    func preset(for shape: Shape, at pointer: JSONPointer) -> JSONValue? { shape.defaultValue }
    func word(of enumeration: [JSONValue]) -> JSONValue { enumeration[0] }
    func members(of object: Shape) -> [Shape.Property] { object.properties.filter { object.required.contains($0.name) } }
    func names(of map: Shape) -> [String] { [] }
    func count(of list: Shape, least: Int) -> Int { least }
    func boolean() -> Bool { false }
    func anything() -> JSONValue { .null }

    func number(_ shape: Shape) -> String {
        shape.rejection(of: .number("0")) == nil ? "0" : (shape.minimum ?? shape.maximum)?.description ?? "0"
    }

    func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: "1970-01-01T00:00:00Z"
        case .date: "1970-01-01"
        case nil: String(repeating: "x", count: max(leastLength(of: shape), min(1, shape.maxLength ?? 1)))
        }
    }
}

/// Valid example payloads of a shape: with and without optional members, with nulls where they are allowed, and with each value of an enum.
package struct ShapeExamples {
    package let texts: [[UInt8]]

    package init(of shape: Shape) {
        let rounds = min(max(Self.words(in: shape), 1), 64)
        var generators = [ExampleGenerator(isFull: false), ExampleGenerator(isNull: true)]
        generators += (0 ..< rounds).map { ExampleGenerator(round: $0) }
        // Generators do not respect all bounds, so payloads that do not fit are dropped.
        texts = generators.indices.map { generators[$0].payload(of: shape) }.filter { shape.rejection(of: $0) == nil }.map {
            Array($0.text.utf8)
        }
    }

    /// The number of values in the largest enum of a shape.
    private static func words(in shape: Shape) -> Int {
        let inner = shape.properties.map(\.shape) + [shape.items, shape.additional].compactMap { $0 }
        return ([shape.enumeration?.count ?? 0] + inner.map { words(in: $0) }).max() ?? 0
    }
}

private struct ExampleGenerator: ValueGenerator {
    var round = 0
    /// Whether optional members are included.
    var isFull = true
    var isNull = false
    var budget = 0

    func preset(for shape: Shape, at pointer: JSONPointer) -> JSONValue? { isNull && shape.isNullable ? .null : nil }
    func word(of enumeration: [JSONValue]) -> JSONValue { enumeration[round % enumeration.count] }
    func members(of object: Shape) -> [Shape.Property] { object.properties.filter { isFull || object.required.contains($0.name) } }
    func names(of map: Shape) -> [String] { isFull ? ["a"] : [] }
    func count(of list: Shape, least: Int) -> Int { max(least, isFull ? min(list.maxItems ?? 2, 2) : 0) }
    func boolean() -> Bool { round % 2 == 0 }
    func anything() -> JSONValue { .object([]) }

    func number(_ shape: Shape) -> String {
        (shape.minimum ?? shape.maximum)?.description ?? (shape.kind == .integer ? "\(round + 1)" : "\(round).5")
    }

    func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: "2026-03-02T10:00:00Z"
        case .date: "2026-03-02"
        case nil: String(repeating: "a", count: max(leastLength(of: shape), min(shape.maxLength ?? 4, 4)))
        }
    }
}
