package import JSONText

/// Where a fold, a key or a guard takes a value from.
package indirect enum Source: Hashable, Sendable {
    /// In the payload.
    case pointer(JSONPointer)
    /// In the element that `each` is at; the element itself for the empty pointer.
    case item(JSONPointer)
    /// In the row, as it was before the event.
    case row(JSONPointer)
    case metadata(JSONPointer)
    case constant(JSONValue)
    case payload, stream, type, time, position
    /// The first ten or seven characters of a date or date-time, as written.
    case day(Source)
    case month(Source)
    case template([TemplatePiece])

    /// The members of the payload that it is made of.
    var pointers: [JSONPointer] {
        switch self {
        case .pointer(let pointer): [pointer]
        case .day(let source), .month(let source): source.pointers
        case .template(let pieces):
            pieces.flatMap { piece -> [JSONPointer] in if case .source(let source) = piece { source.pointers } else { [] } }
        default: []
        }
    }

    /// Whether `each` is needed to read it.
    var readsItem: Bool {
        switch self {
        case .item: true
        case .day(let source), .month(let source): source.readsItem
        case .template(let pieces): pieces.contains { if case .source(let source) = $0 { source.readsItem } else { false } }
        default: false
        }
    }

    /// Whether the name of the event's stream is needed to read it.
    var readsStream: Bool {
        switch self {
        case .stream: true
        case .day(let source), .month(let source): source.readsStream
        case .template(let pieces): pieces.contains { if case .source(let source) = $0 { source.readsStream } else { false } }
        default: false
        }
    }
}

/// A part of a template such as `"{/a}:{/b}"`.
package enum TemplatePiece: Hashable, Sendable {
    case literal(String)
    case source(Source)
}
