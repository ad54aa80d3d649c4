internal import Bytes
internal import EventModel
package import JSONText

/// The composition of a value: members of an event's image at an older version, what the event carries beside its payload, and the row as
/// it was before the event. Two values with equal terms have equal bytes, whatever the event.
package indirect enum ValueTerm: Hashable, Sendable {
    /// A member of the older image, unchanged.
    case member(JSONPointer)
    /// Compact JSON text.
    case constant([UInt8])
    /// A value outside the payload, or a member of the row or of the current element of a fold.
    case source(Source)
    /// The concatenation of several texts, as a string; absent if one of them is absent.
    case text([Piece])
    /// The given number of leading characters of a date.
    case prefix(ValueTerm, Int)
    /// The result of a table: rows are matched by equality of values. Other values become `otherwise`; null stays null.
    case chosen(ValueTerm, [Choice], otherwise: ValueTerm?)
    case list(ValueTerm)
    /// A constant that is present if another value is present.
    case constantBeside(ValueTerm, [UInt8])
    /// A slot of a row. Images contain none: it replaces a value of the image that the slot holds.
    case slot(Int)

    package enum Piece: Hashable, Sendable {
        case literal([UInt8])
        case value(ValueTerm)
    }

    /// One row of a table: canonical JSON text, and its replacement.
    package struct Choice: Hashable, Sendable {
        package let from, to: [UInt8]

        package init(from: [UInt8], to: [UInt8]) { (self.from, self.to) = (from, to) }
    }

    /// The term with some parts replaced, outermost first.
    package func replacing(_ change: (ValueTerm) -> ValueTerm?) -> ValueTerm {
        if let changed = change(self) { return changed }
        switch self {
        case .member, .constant, .source, .slot: return self
        case .text(let pieces):
            return .text(
                pieces.map { piece in if case .value(let term) = piece { .value(term.replacing(change)) } else { piece } })
        case .prefix(let term, let count): return .prefix(term.replacing(change), count)
        case .chosen(let term, let choices, let otherwise):
            return .chosen(term.replacing(change), choices, otherwise: otherwise?.replacing(change))
        case .list(let term): return .list(term.replacing(change))
        case .constantBeside(let term, let json): return .constantBeside(term.replacing(change), json)
        }
    }

    /// The terms at the leaves.
    package var leaves: [ValueTerm] {
        switch self {
        case .member, .constant, .source, .slot: [self]
        case .text(let pieces): pieces.flatMap { piece -> [ValueTerm] in if case .value(let term) = piece { term.leaves } else { [] } }
        case .prefix(let term, _), .list(let term), .constantBeside(let term, _): term.leaves
        case .chosen(let term, _, let otherwise): term.leaves + (otherwise?.leaves ?? [])
        }
    }

    /// The slots among the leaves.
    package var slots: Set<Int> { Set(leaves.compactMap { leaf in if case .slot(let slot) = leaf { slot } else { nil } }) }

    /// Whether null is mapped to null.
    package var keepsNull: Bool {
        switch self {
        case .member, .source, .slot: true
        case .chosen(let term, _, _): term.keepsNull
        case .constant, .text, .prefix, .list, .constantBeside: false
        }
    }
}

extension ValueTerm {
    /// The term for a constant of an op or a fold.
    init(constant json: [UInt8]) {
        var compact = ByteBuffer(capacity: json.count)
        appendCompact(json.lent, into: &compact)
        self = .constant(compact.array())
    }

    /// The table that a conversion represents for some values, which must be strings or booleans; nil if it refuses one.
    init?(_ term: ValueTerm, _ values: [[UInt8]], through conversion: Conversion) {
        var choices: [Choice] = []
        for value in values {
            guard let kind = JSONKind(firstByte: value.lent.peek(at: 0)), kind == .string || kind == .true || kind == .false else {
                return nil
            }
            var content = ByteBuffer(capacity: 64)
            var made = ByteBuffer(capacity: 64)
            _ = appendText(of: value.lent, into: &content)
            do {
                let isCanonical = try conversion.codec.recode(content, kind, conversion.direction, into: &made)
                if conversion.isStrict, !isCanonical { return nil }
            } catch { return nil }
            choices.append(Choice(from: value, to: made.array()))
        }
        self = .chosen(term, choices, otherwise: nil)
    }
}

/// A condition on which the presence of a value depends.
package enum PresenceCondition: Hashable, Sendable {
    /// The member of the older image is present.
    case member(JSONPointer)
    /// The member is not null.
    case value(JSONPointer)
    /// The value outside the payload is present and, if it is used in a text, not null.
    case source(Source, isText: Bool)
}
