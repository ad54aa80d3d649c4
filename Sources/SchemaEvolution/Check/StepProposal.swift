internal import EventModel
internal import JSONText

/// The ops that would resolve a difference, as far as the shapes determine them.
struct StepProposal {
    private(set) var rule = Rule.unexplained
    /// Whether the difference needs no op, since only the data can prove that events fit.
    private(set) var isNote = false
    /// Empty if an argument of the op can't be guessed.
    private(set) var ops: [JSONValue] = []
    private(set) var fix: String?

    init(
        _ difference: ShapeDifference, _ state: StepContext.TypeState, _ declared: EventShape, _ matching: MemberMatching,
        in version: SchemaVersion
    ) {
        let place = difference.pointer
        let (old, new) = (matching.made.shape(at: place), matching.declared.shape(at: place))
        switch difference.kind {
        case .missing(let isRequired):
            let moves = matching.moves(to: place)
            let candidates = moves.isEmpty ? matching.candidates(for: place, new, isAlways: isRequired) : []
            rule = isRequired && moves.isEmpty ? Rule.upNotTotal : Rule.unexplained
            if !moves.isEmpty {
                propose(moves)
            } else if !candidates.isEmpty {
                let ways = candidates.map { "move: {from: \($0), path: \(place)}" }
                let other = isRequired ? "add: {path: \(place), value: …}" : "allow: {path: \(place), down: absent}"
                fix = "if it had another name: \(ways.joined(separator: ", or ")); if it is new: \(other)"
            } else {
                let op = Self.inside(place) { pointer in
                    isRequired
                        ? .op(Add.name, [("path", pointer), ("value", new?.sample ?? .null)])
                        : .op(Allow.name, [("path", pointer), ("down", .string("absent"))])
                }
                ops = [op]
                if isRequired { fix = "\(op.words), with a value of your choice" }
            }
        case .extra:
            let isRequired = state.shape.isRequired(at: place)
            let moves = matching.moves(from: place)
            let successors = moves.isEmpty ? matching.successors(of: place, old, isAlways: isRequired) : []
            let restore = isRequired ? "…" : "absent"
            let remove = Self.inside(place) {
                .op(
                    Remove.name,
                    [("path", $0), ("restore", .string(restore)), ("because", .string(isRequired ? "…" : unexplainedReason))])
            }
            if state.mayNarrow, !isRequired {
                (rule, isNote) = (Rule.tightened, true)
            } else if !moves.isEmpty {
                propose(moves)
            } else if !successors.isEmpty {
                let ways = successors.map { "move: {from: \(place), path: \($0)}" }
                fix = "if it has another name: \(ways.joined(separator: ", or ")); if it is gone: \(remove.words)"
            } else if isRequired {
                // Only the author can choose the value that the previous version sees.
                fix = "\(remove.words), where restore is what \(version.previous) sees"
            } else {
                ops = [remove]
            }
        case .type:
            rule = Rule.upNotTotal
            let (op, open) = Self.conversion(place, old, new, isRequired: state.shape.isRequired(at: place))
            if let op, !open { ops = [op] } else { fix = op?.words }
        case .format:
            rule = Rule.upNotTotal
            let codec: JSONValue? =
                switch (old?.format, new?.format) {
                case (.dateTime?, .date?), (.date?, .dateTime?): .string(DateOfTime.name)
                case (nil, .dateTime?): .object([.init(name: LocalTime.name, value: .object([.init(name: "offset", value: .string("Z"))]))])
                default: nil
                }
            let convert = Self.inside(place) {
                .op(
                    Convert.name,
                    [("path", $0), ("to", .string("string")), ("using", codec ?? .string("…"))]
                        + (new?.format == .date ? [("because", .string(unexplainedReason))] : []))
            }
            if codec == nil { fix = convert.words } else { ops = [convert] }
        case .stream:
            fix = "declare the template that the ops make of the older one"
            if let before = state.stream, let after = declared.stream, Set(before.members) == Set(after.members) {
                let names = [before, after].map { "\($0)".replacing("{/", with: "{") }
                fix = "\(fix ?? ""), or give the streams other names: rekey: {from: \(quoted(names[0])), to: \(quoted(names[1]))}"
            }
        case .wider(let constraint):
            let op = Self.inside(place) { .op(Allow.name, [("path", $0), ("down", Self.down(constraint, old, new))]) }
            (ops, fix) = ([op], "\(op.words), with a value of your choice")
        case .narrower: (rule, isNote) = (Rule.tightened, true)
        }
        fix = fix ?? (ops.isEmpty ? nil : ops.map(\.words).joined(separator: ", "))
    }

    private mutating func propose(_ moves: [(from: JSONPointer, to: JSONPointer)]) {
        ops = moves.map { .op(Move.name, [("from", .string($0.from.description)), ("path", .string($0.to.description))]) }
        fix = "did you mean \(ops.map(\.words).joined(separator: " and "))?"
    }

    /// An op at a pointer, wrapped in `each` if the pointer leads into a list or map.
    private static func inside(_ place: JSONPointer, _ op: (JSONValue) -> JSONValue) -> JSONValue {
        guard let star = place.tokens.firstIndex(where: { $0.text == "*" }) else { return op(.string(place.description)) }
        let holder = JSONPointer(tokens: Array(place.tokens[..<star]))
        let rest = JSONPointer(tokens: Array(place.tokens[(star + 1)...]))
        return .op(Each.name, [("path", .string(holder.description)), ("do", .array([inside(rest, op)]))])
    }

    /// What an older version sees in place of a value that it does not know.
    private static func down(_ constraint: ShapeDifference.Constraint, _ old: Shape?, _ new: Shape?) -> JSONValue {
        guard let old else { return .string("absent") }
        func single(_ name: String, _ value: JSONValue) -> JSONValue { .object([.init(name: name, value: value)]) }
        switch constraint {
        case .required: return single("absent-as", old.sample)
        case .enumeration:
            let known = Set(of: (old.enumeration ?? []).map(\.word))
            let rows = (new?.enumeration ?? []).filter { !known.contains($0.word) && $0 != .null }
            if rows.isEmpty { return single("value", old.sample) }
            return single("table", .object(rows.map { .init(name: $0.word, value: old.nearestValue(to: $0.word)) }))
        default: return single("value", old.sample)
        }
    }

    /// - Returns: the op, and whether it contains a placeholder that the author must replace.
    private static func conversion(
        _ place: JSONPointer, _ old: Shape?, _ new: Shape?, isRequired: Bool
    ) -> (op: JSONValue?, hasPlaceholder: Bool) {
        guard let old, let new else { return (nil, false) }
        if new.kind == .array, new.items?.kind == old.kind {
            let empty: [(String, JSONValue)] = isRequired && new.minItems ?? 0 < 1 ? [("empty", old.sample(refusedBy: new.items))] : []
            return (inside(place) { .op(Wrap.name, [("path", $0)] + empty) }, false)
        }
        if old.kind == .array, old.items?.kind == new.kind {
            let empty: [(String, JSONValue)] = isRequired && old.minItems ?? 0 < 1 ? [("empty", new.sample)] : []
            return (inside(place) { .op(Head.name, [("path", $0)] + empty) }, false)
        }
        let codec = ProposedCodec(from: old, to: new)
        let op = inside(place) { .op(Convert.name, [("path", $0), ("to", .string(new.kind.rawValue)), ("using", codec.using)]) }
        return (op, codec.hasPlaceholder)
    }
}

extension JSONValue {
    /// An op or item in YAML's flow style: `add: {path: /b, value: 0}`.
    var words: String { String(flow.dropFirst().dropLast()) }
}

/// The codec that converts values of one shape to another, as far as the shapes determine it.
struct ProposedCodec {
    let using: JSONValue
    /// Whether the codec contains a placeholder that the author must replace.
    let hasPlaceholder: Bool

    /// Words that mean true, each with the word that means false.
    private static let flags = [
        "true": "false", "yes": "no", "y": "n", "on": "off", "1": "0", "t": "f", "enabled": "disabled", "active": "inactive",
    ]

    init(from old: Shape, to new: Shape) {
        if let (words, hasPlaceholder) = Self.table(from: old, to: new) {
            self.hasPlaceholder = hasPlaceholder
            using = .object([.init(name: Table.name, value: .object([.init(name: "map", value: .object(words))]))])
            return
        }
        let isTime = old.format == .dateTime || new.format == .dateTime
        let name: String? =
            switch (old.kind, new.kind) {
            case (.string, .integer), (.integer, .string): isTime ? EpochSeconds.name : IntegerText.name
            case (.string, .number), (.number, .string): isTime ? EpochSeconds.name : NumberText.name
            case (.string, .boolean), (.boolean, .string): BooleanText.name
            default: nil
            }
        (using, hasPlaceholder) = (.string(name ?? "…"), name == nil)
    }

    /// A table, if the older values are known and are more than just texts of the newer ones.
    private static func table(from old: Shape, to new: Shape) -> (rows: [JSONValue.Member], hasPlaceholder: Bool)? {
        guard let values = old.choices?.filter({ $0 != .null }), old.isScalar, new.isScalar else { return nil }
        let words = values.map(\.word)
        if old.kind == .string, words.allSatisfy({ Shape.value($0, new.kind).isCanonical(new.kind) }) { return nil }
        if new.kind == .string, new.enumeration == nil { return nil }
        let targets = new.choices?.filter { $0 != .null }.map(\.word) ?? []
        // A word for true maps to true, regardless of which side has the words.
        let truths = [truth(among: words), truth(among: targets)]
        if old.kind == .boolean || new.kind == .boolean, words.count == 2, targets.count == 2, let yes = truths[0], let other = truths[1] {
            return (
                words.map { .init(name: $0, value: Shape.value(($0 == yes) ? other : targets.first { $0 != other } ?? other, new.kind)) },
                false
            )
        }
        return (words.map { .init(name: $0, value: .string("…")) }, true)
    }

    /// The word of two that means true, provided that the other one means false.
    private static func truth(among words: [String]) -> String? {
        guard words.count == 2 else { return nil }
        return words.first { word in flags[word.lowercased()].map { no in words.contains { $0.lowercased() == no } } ?? false }
    }
}

extension JSONValue {
    /// Whether this is a value of the given kind in canonical form.
    fileprivate func isCanonical(_ kind: Shape.Kind) -> Bool { Shape(kind).rejection(of: self) == nil && canonical() == Array(text.utf8) }
}

extension Shape {
    /// All values of the shape if they are known: those of `enum` or `const`, or true and false.
    var choices: [JSONValue]? {
        if let values = enumeration ?? constant.map({ [$0] }) { return values }
        return kind == .boolean ? [.bool(true), .bool(false)] + (isNullable ? [.null] : []) : nil
    }
}
