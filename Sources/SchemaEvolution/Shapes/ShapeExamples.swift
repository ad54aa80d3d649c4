internal import Bytes
internal import JSONText

/// Payloads that a shape allows: with and without what may be absent, null where null may stand, each word of an enum.
package struct ShapeExamples {
    package let texts: [[UInt8]]

    package init(of shape: Shape) {
        let rounds = min(max(Self.words(in: shape), 1), 64)
        var drawings = [Drawing(isFull: false), Drawing(isNull: true)]
        drawings += (0 ..< rounds).map { Drawing(round: $0) }
        // What bounds beyond ours make invalid is left out.
        texts = drawings.indices.map { drawings[$0].drawn(shape) }.filter { shape.accepts($0) == nil }.map { Array($0.text.utf8) }
    }

    /// The most words that an enum inside has.
    private static func words(in shape: Shape) -> Int {
        let inner = shape.properties.map(\.shape) + [shape.items, shape.additional].compactMap { $0 }
        return ([shape.enumeration?.count ?? 0] + inner.map { words(in: $0) }).max() ?? 0
    }
}

private struct Drawing: ShapeDrawing {
    var round = 0
    /// Whether all is there that may be.
    var isFull = true
    var isNull = false
    var room = 0

    func choice(for shape: Shape, at pointer: JSONPointer) -> JSONValue? { isNull && shape.isNullable ? .null : nil }
    func word(of enumeration: [JSONValue]) -> JSONValue { enumeration[round % enumeration.count] }
    func members(of object: Shape) -> [Shape.Property] { object.properties.filter { isFull || object.required.contains($0.name) } }
    func names(of map: Shape) -> [String] { isFull ? ["a"] : [] }
    func count(of list: Shape, least: Int) -> Int { max(least, isFull ? min(list.maxItems ?? 2, 2) : 0) }
    func flag() -> Bool { round % 2 == 0 }
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
