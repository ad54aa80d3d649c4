internal import Bytes
internal import JSONText
internal import SchemaEvolution

/// Payloads that a shape allows: with and without what may be absent, null where null may stand, each word of an enum.
struct ShapeExamples {
    let texts: [[UInt8]]

    init(of shape: Shape) {
        let rounds = min(max(Self.words(in: shape), 1), 64)
        var values = [Self.value(shape, round: 0, isFull: false, isNull: false), Self.value(shape, round: 0, isFull: true, isNull: true)]
        values += (0 ..< rounds).map { Self.value(shape, round: $0, isFull: true, isNull: false) }
        // What bounds beyond ours make invalid is left out.
        texts = values.filter { shape.accepts($0) == nil }.map { Array($0.text.utf8) }
    }

    /// The most words that an enum inside has.
    private static func words(in shape: Shape) -> Int {
        let inner = shape.properties.map(\.shape) + [shape.items, shape.additional].compactMap { $0 }
        return ([shape.enumeration?.count ?? 0] + inner.map { words(in: $0) }).max() ?? 0
    }

    private static func value(_ shape: Shape, round: Int, isFull: Bool, isNull: Bool) -> JSONValue {
        if isNull, shape.isNullable { return .null }
        if let constant = shape.constant { return constant }
        if let words = shape.enumeration, !words.isEmpty { return words[round % words.count] }
        switch shape.kind {
        case .object:
            if let values = shape.additional {
                return .object(isFull ? [.init(name: "a", value: value(values, round: round, isFull: isFull, isNull: isNull))] : [])
            }
            return .object(
                shape.properties.filter { isFull || shape.required.contains($0.name) }
                    .map { .init(name: $0.name, value: value($0.shape, round: round, isFull: isFull, isNull: isNull)) })
        case .array:
            let count = max(shape.minItems ?? 0, isFull ? min(shape.maxItems ?? 2, 2) : 0)
            return .array(
                (0 ..< count).map { value(shape.items ?? .any, round: round + $0, isFull: isFull, isNull: isNull) })
        case .string: return .string(text(shape))
        case .integer: return .number(shape.minimum?.description ?? shape.maximum?.description ?? "\(round + 1)")
        case .number: return .number(shape.minimum?.description ?? shape.maximum?.description ?? "\(round).5")
        case .boolean: return .bool(round % 2 == 0)
        case .null: return .null
        case .any: return .object([])
        }
    }

    private static func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: return "2026-03-02T10:00:00Z"
        case .date: return "2026-03-02"
        case nil:
            let count = max(shape.minLength ?? 0, min(shape.maxLength ?? 4, 4))
            return String(repeating: "a", count: count)
        }
    }
}
