internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// The folds of one type in one of two definitions of a read model, the older or the newer one, described in terms of the older image.
struct FoldSide {
    enum Age { case older, newer }

    let age: Age
    let projection: DeclaredProjection
    /// The name of the type at the definition's version.
    let type: String
    /// The shape of its images at that version.
    let shape: Shape
    let branch: TracedBranch

    var folds: [FoldRule]? { projection.on[Name(type)] }
    var key: Source { projection.key(of: Name(type)).source }

    func find(_ source: Source) -> TracedBranch.Found {
        let found = term(of: source)
        guard case .term(let term) = found, branch.conditions(of: term) == nil else { return found }
        // A text without one of its parts is absent, but another part may fail before this is known.
        return branch.mayFail(term) ? .unclear : .nothing
    }

    private func term(of source: Source) -> TracedBranch.Found {
        switch source {
        case .pointer(let place): return age == .older ? .term(.member(place)) : branch.find(place)
        case .constant(let value): return .term(.constant(value.canonical()))
        case .type: return .term(.constant(JSONValue.string(type).canonical()))
        case .payload: return .unclear
        case .stream, .time, .position, .metadata, .item, .row: return .term(.source(source))
        case .day(let source): return term(of: source).mapped { .prefix($0, 10) }
        case .month(let source): return term(of: source).mapped { .prefix($0, 7) }
        case .template(let template):
            var (pieces, isNothing): ([ValueTerm.Piece], Bool) = ([], false)
            for part in template.parts {
                switch part {
                case .literal(let text): pieces.append(.literal(Array(text.utf8)))
                case .member(let source):
                    switch term(of: source) {
                    case .unclear: return .unclear
                    case .nothing: isNothing = true
                    case .term(let term): pieces.append(.value(term))
                    }
                }
            }
            if isNothing { return branch.mayFail(.text(pieces)) ? .unclear : .nothing }
            return .term(.text(pieces))
        }
    }

    struct Effect {
        /// The edits by the slot that they change; edits that never change anything are omitted.
        var edits: [Int: [TracedEdit]] = [:]
        var makesRow: Bool
        let branch: TracedBranch
    }

    func effect(of fold: FoldRule, _ layout: RowLayout) -> Effect {
        var effect = Effect(makesRow: !fold.edits.isEmpty && !fold.onlyExisting && !fold.deletes, branch: branch)
        for edit in fold.edits {
            guard let (slot, names) = layout.slot(of: edit.target.fixed) else { continue }
            let tokens = edit.target.tokens.dropFirst(edit.target.fixed.count).map { token -> TracedEdit.Token in
                switch token {
                case .name(let name): .name(MemberName(name.text))
                case .template(let template): .found(find(.template(template)))
                }
            }
            let value = edit.kind == .unset ? TracedBranch.Found.nothing : find(edit.source)
            // A value that is never present changes nothing, unless the name of its target fails.
            if edit.kind != .unset, value == .nothing, !tokens.contains(where: { mayFail($0) }) { continue }
            effect.edits[slot, default: []].append(
                TracedEdit(
                    kind: edit.kind, within: names.map { .name($0) } + tokens, keep: edit.keep,
                    isInstant: edit.source.isInstant(in: shape, item: fold.each.flatMap { shape.at($0)?.items }),
                    value: value, conditions: conditions(of: value)))
        }
        return effect
    }

    private func mayFail(_ token: TracedEdit.Token) -> Bool {
        switch token {
        case .name, .found(.nothing): false
        case .found(.unclear): true
        case .found(.term(let term)): branch.mayFail(term)
        }
    }

    private func conditions(of value: TracedBranch.Found) -> Set<PresenceCondition>? {
        if case .term(let term) = value { branch.conditions(of: term) } else { nil }
    }
}

/// An edit of a fold, described in terms of the older image.
struct TracedEdit {
    enum Token: Hashable {
        case name(MemberName)
        case found(TracedBranch.Found)
    }

    let kind: Edit.Kind
    /// The location of the edit inside its slot.
    let within: [Token]
    let keep: Int?
    /// Whether values are compared as moments.
    let isInstant: Bool
    /// `nothing` for `unset`.
    let value: TracedBranch.Found
    let conditions: Set<PresenceCondition>?

    var term: ValueTerm? { if case .term(let term) = value { term } else { nil } }

    /// Whether all parts of the edit could be determined.
    var isClear: Bool { value != .unclear && !within.contains(.found(.unclear)) }
}

extension TracedBranch.Found {
    fileprivate func mapped(_ change: (ValueTerm) -> ValueTerm) -> TracedBranch.Found {
        if case .term(let term) = self { .term(change(term)) } else { self }
    }
}
