internal import Bytes
internal import EventModel
internal import JSONText

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
