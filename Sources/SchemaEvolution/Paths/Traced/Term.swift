internal import Bytes
internal import EventModel
package import JSONText

/// What a value is made of: members of an event's image at an older version, what the event carries beside its payload, the row as it
/// was before the event. Two values of one term have the same bytes, whatever the event.
package indirect enum Term: Hashable, Sendable {
    /// A member of the older image, as it stands there.
    case member(JSONPointer)
    /// Compact JSON text.
    case constant([UInt8])
    /// What stands outside the payload, or at a place of the row or of the element that a fold is at.
    case source(Source)
    /// Several texts, one after the other, as a string. Without one of them there is none.
    case text([Piece])
    /// The first so many characters of a date.
    case prefix(Term, Int)
    /// What a table makes of a value: the rows are told apart by what they mean. Other values become `otherwise`; null stays null.
    case chosen(Term, [Choice], otherwise: Term?)
    case list(Term)
    /// A constant where another value is there.
    case constantBeside(Term, [UInt8])
    /// A slot of a row. No image has one: it stands where a value of the image stood that the slot holds.
    case slot(Int)

    package enum Piece: Hashable, Sendable {
        case literal([UInt8])
        case value(Term)
    }

    /// One row of a table: canonical JSON text, and what it becomes.
    package struct Choice: Hashable, Sendable {
        package let from, to: [UInt8]

        package init(from: [UInt8], to: [UInt8]) { (self.from, self.to) = (from, to) }
    }

    /// The term with some parts replaced, the outermost first.
    package func replacing(_ change: (Term) -> Term?) -> Term {
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

    /// What it is made of in the end.
    package var leaves: [Term] {
        switch self {
        case .member, .constant, .source, .slot: [self]
        case .text(let pieces): pieces.flatMap { piece -> [Term] in if case .value(let term) = piece { term.leaves } else { [] } }
        case .prefix(let term, _), .list(let term), .constantBeside(let term, _): term.leaves
        case .chosen(let term, _, let otherwise): term.leaves + (otherwise?.leaves ?? [])
        }
    }

    /// The slots that it is made of.
    package var slots: Set<Int> { Set(leaves.compactMap { leaf in if case .slot(let slot) = leaf { slot } else { nil } }) }

    /// Whether it gives null of null.
    package var keepsNull: Bool {
        switch self {
        case .member, .source, .slot: true
        case .chosen(let term, _, _): term.keepsNull
        case .constant, .text, .prefix, .list, .constantBeside: false
        }
    }
}

extension Term {
    /// A constant of an op, or of a fold.
    init(constant json: [UInt8]) {
        var compact = ByteBuffer(capacity: json.count)
        appendCompact(json.lent, into: &compact)
        self = .constant(compact.array())
    }

    /// The table that a conversion is for some values, strings and flags; nil where it refuses one.
    init?(_ term: Term, _ values: [[UInt8]], through conversion: Conversion) {
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

/// On what it depends whether a value is there.
package enum Condition: Hashable, Sendable {
    /// The member of the older image is there.
    case member(JSONPointer)
    /// The member is not null.
    case value(JSONPointer)
    /// There is such a value outside the payload; as part of a text: and it is not null.
    case source(Source, isText: Bool)
}
