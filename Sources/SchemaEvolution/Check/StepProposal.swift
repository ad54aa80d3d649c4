internal import EventModel
internal import JSONText

/// Which op would explain a difference, as far as the shapes can say.
struct StepProposal {
    private(set) var rule = Rule.unexplained
    /// Whether it is proved on the data rather than by an op.
    private(set) var isNote = false
    /// Nil where there is none, or where what it needs can't be guessed.
    private(set) var op: JSONValue?
    private(set) var fix: String?

    init(_ difference: ShapeDifference, _ state: StepSite.TypeState, _ declared: EventShape, _ all: [ShapeDifference]) {
        let place = difference.pointer
        let (old, new) = (state.shape.shape(at: place), declared.shape.shape(at: place))
        switch difference.kind {
        case .missing(let isRequired):
            if let origin = Self.origin(of: difference, state, declared, all) {
                propose(origin)
            } else {
                rule = isRequired ? Rule.upNotTotal : Rule.unexplained
                op = Self.inside(place) { pointer in
                    isRequired
                        ? .op(Add.name, [("path", pointer), ("value", new?.sample ?? .null)])
                        : .op(Allow.name, [("path", pointer), ("down", .string("absent"))])
                }
                if isRequired { fix = op.map { "\($0.words), with a value of your choice" } }
            }
        case .extra:
            if state.mayNarrow, !state.shape.isRequired(at: place) {
                (rule, isNote) = (Rule.tightened, true)
            } else if let twin = all.lazy.compactMap({ Self.origin(of: $0, state, declared, all) }).first(where: {
                $0.from.hasPrefix(place)
            }) {
                propose(twin)
            } else {
                let restore = state.shape.isRequired(at: place) ? old?.sample ?? .null : .string("absent")
                op = Self.inside(place) {
                    .op(Remove.name, [("path", $0), ("restore", restore), ("because", .string(unexplainedReason))])
                }
            }
        case .type:
            rule = Rule.upNotTotal
            (op, fix) = Self.conversion(place, old, new, isRequired: state.shape.isRequired(at: place))
        case .format:
            rule = Rule.upNotTotal
            let codec: JSONValue? =
                switch (old?.format, new?.format) {
                case (.dateTime?, .date?), (.date?, .dateTime?): .string(DateOfTime.name)
                case (nil, .dateTime?): .object([.init(name: LocalTime.name, value: .object([.init(name: "offset", value: .string("Z"))]))])
                default: nil
                }
            let convert = Self.inside(place) {
                .op(Convert.name, [("path", $0), ("to", .string("string")), ("using", codec ?? .string("…"))])
            }
            (op, fix) = (codec == nil ? nil : convert, convert.words)
        case .stream:
            fix = "declare the template that the ops make of the older one"
            if let before = state.stream, let after = declared.stream, Set(before.members) == Set(after.members) {
                let names = [before, after].map { "\($0)".replacing("{/", with: "{") }
                fix = "\(fix ?? ""), or give the streams other names: rekey: {from: \(quoted(names[0])), to: \(quoted(names[1]))}"
            }
        case .wider(let constraint):
            op = Self.inside(place) { .op(Allow.name, [("path", $0), ("down", Self.down(constraint, old, new))]) }
            fix = op.map { "\($0.words), with a value of your choice" }
        case .narrower: (rule, isNote) = (Rule.tightened, true)
        }
        fix = fix ?? op?.words
    }

    private mutating func propose(_ origin: (from: JSONPointer, to: JSONPointer)) {
        let move = JSONValue.op(Move.name, [("from", .string(origin.from.description)), ("path", .string(origin.to.description))])
        (op, fix) = (move, "did you mean \(move.words)?")
    }

    /// Where a member that is missing, or one within it, may have stood: of its kind, still there, if there is one of its name.
    private static func origin(
        of difference: ShapeDifference, _ state: StepSite.TypeState, _ declared: EventShape, _ all: [ShapeDifference]
    ) -> (from: JSONPointer, to: JSONPointer)? {
        guard case .missing = difference.kind else { return nil }
        let left = all.filter { $0.kind == .extra }.flatMap { places(at: $0.pointer, in: state.shape) }
        for (to, new) in places(at: difference.pointer, in: declared.shape) {
            let alike = left.filter { $0.shape.kind == new.kind }
            if let same = alike.first(where: { $0.place.last == to.last }) { return (same.place, to) }
            let name = to.last?.text ?? ""
            if let word = nearest(to: name, among: left.compactMap { $0.place.last?.text }),
                let near = left.first(where: { $0.place.last?.text == word }),
                near.shape.kind == new.kind || near.shape.kind == new.items?.kind
            {
                return (near.place, to)
            }
            if to == difference.pointer, let any = alike.first { return (any.place, to) }
        }
        return nil
    }

    /// A place and those of the members within it, outermost first.
    private static func places(at place: JSONPointer, in shape: Shape) -> [(place: JSONPointer, shape: Shape)] {
        guard let found = shape.shape(at: place) else { return [] }
        return [(place, found)]
            + found.properties.flatMap { places(at: JSONPointer(tokens: place.tokens + [MemberName($0.name)]), in: shape) }
    }

    /// An op for a place, within `each` where the place lies in a list or a map.
    private static func inside(_ place: JSONPointer, _ op: (JSONValue) -> JSONValue) -> JSONValue {
        guard let star = place.tokens.firstIndex(where: { $0.text == "*" }) else { return op(.string(place.description)) }
        let holder = JSONPointer(tokens: Array(place.tokens[..<star]))
        let rest = JSONPointer(tokens: Array(place.tokens[(star + 1)...]))
        return .op(Each.name, [("path", .string(holder.description)), ("do", .array([inside(rest, op)]))])
    }

    /// What an older version sees of what it does not know.
    private static func down(_ constraint: ShapeDifference.Constraint, _ old: Shape?, _ new: Shape?) -> JSONValue {
        guard let old else { return .string("absent") }
        func single(_ name: String, _ value: JSONValue) -> JSONValue { .object([.init(name: name, value: value)]) }
        switch constraint {
        case .required: return single("absent-as", old.sample)
        case .enumeration:
            let known = Set((old.enumeration ?? []).map(\.word))
            let rows = (new?.enumeration ?? []).filter { !known.contains($0.word) && $0 != .null }
            if rows.isEmpty { return single("value", old.sample) }
            return single("table", .object(rows.map { .init(name: $0.word, value: old.likest($0.word)) }))
        default: return single("value", old.sample)
        }
    }

    private static func conversion(
        _ place: JSONPointer, _ old: Shape?, _ new: Shape?, isRequired: Bool
    ) -> (op: JSONValue?, fix: String?) {
        guard let old, let new else { return (nil, nil) }
        if new.kind == .array, new.items?.kind == old.kind {
            let empty: [(String, JSONValue)] = isRequired && new.minItems ?? 0 < 1 ? [("empty", old.sample(refusedBy: new.items))] : []
            return (inside(place) { .op(Wrap.name, [("path", $0)] + empty) }, nil)
        }
        if old.kind == .array, old.items?.kind == new.kind {
            let empty: [(String, JSONValue)] = isRequired && old.minItems ?? 0 < 1 ? [("empty", new.sample)] : []
            return (inside(place) { .op(Head.name, [("path", $0)] + empty) }, nil)
        }
        let isTime = old.format == .dateTime || new.format == .dateTime
        let codec: String? =
            switch (old.kind, new.kind) {
            case (.string, .integer), (.integer, .string): isTime ? "epoch-seconds" : "integer-text"
            case (.string, .number), (.number, .string): isTime ? "epoch-seconds" : "number-text"
            case (.string, .boolean), (.boolean, .string): "boolean-text"
            default: nil
            }
        let op = inside(place) {
            .op(Convert.name, [("path", $0), ("to", .string(new.kind.rawValue)), ("using", .string(codec ?? "…"))])
        }
        return codec == nil ? (nil, op.words) : (op, nil)
    }
}

extension JSONValue {
    /// An op or an item as it stands in a list: `add: {path: /b, value: 0}`.
    var words: String { String(flow.dropFirst().dropLast()) }
}
