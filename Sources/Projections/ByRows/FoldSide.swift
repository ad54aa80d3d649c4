internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// What a read model's folds of one type find, as it is defined at the older of two versions or at the newer one: told by the older image.
struct FoldSide {
    enum Age { case older, newer }

    let age: Age
    let projection: DeclaredProjection
    /// The type's name at the version.
    let type: String
    /// The shape that its images have there.
    let shape: Shape
    let way: TracedWay

    var folds: [FoldRule]? { projection.on[Name(type)] }

    func find(_ source: Source) -> TracedWay.Found {
        let found = term(of: source)
        guard case .term(let term) = found, way.conditions(of: term) == nil else { return found }
        // A text without one of its parts is none, and another part may fail before that is known.
        return way.mayFail(term) ? .unclear : .nothing
    }

    private func term(of source: Source) -> TracedWay.Found {
        switch source {
        case .pointer(let place): return age == .older ? .term(.member(place)) : way.find(place)
        case .constant(let value): return .term(.constant(value.canonical()))
        case .type: return .term(.constant(JSONValue.string(type).canonical()))
        case .payload: return .unclear
        case .stream, .time, .position, .metadata, .item, .row: return .term(.source(source))
        case .day(let source): return term(of: source).mapped { .prefix($0, 10) }
        case .month(let source): return term(of: source).mapped { .prefix($0, 7) }
        case .template(let template):
            var (pieces, isNothing): ([Term.Piece], Bool) = ([], false)
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
            if isNothing { return way.mayFail(.text(pieces)) ? .unclear : .nothing }
            return .term(.text(pieces))
        }
    }

    /// What a fold does to the row.
    struct Site {
        /// By the slot that they change; what never changes anything is left out.
        var edits: [Int: [SiteEdit]] = [:]
        var makesRow: Bool
        let way: TracedWay
    }

    func site(of fold: FoldRule, _ layout: RowLayout) -> Site {
        var site = Site(makesRow: !fold.edits.isEmpty && !fold.onlyExisting && !fold.deletes, way: way)
        for edit in fold.edits {
            guard let (slot, names) = layout.slot(of: edit.target.fixed) else { continue }
            let tokens = edit.target.tokens.dropFirst(edit.target.fixed.count).map { token -> SiteEdit.Token in
                switch token {
                case .name(let name): .name(MemberName(name.text))
                case .template(let template): .found(find(.template(template)))
                }
            }
            let value = edit.kind == .unset ? TracedWay.Found.nothing : find(edit.source)
            // What is never there changes nothing, unless the name of its target fails.
            if edit.kind != .unset, value == .nothing, !tokens.contains(where: { mayFail($0) }) { continue }
            site.edits[slot, default: []].append(
                SiteEdit(
                    kind: edit.kind, within: names.map { .name($0) } + tokens, keep: edit.keep,
                    isInstant: isInstant(edit.source, fold.each),
                    value: value, conditions: conditions(of: value)))
        }
        return site
    }

    private func mayFail(_ token: SiteEdit.Token) -> Bool {
        switch token {
        case .name, .found(.nothing): false
        case .found(.unclear): true
        case .found(.term(let term)): way.mayFail(term)
        }
    }

    private func conditions(of value: TracedWay.Found) -> Set<Condition>? {
        if case .term(let term) = value { way.conditions(of: term) } else { nil }
    }

    private func isInstant(_ source: Source, _ each: JSONPointer?) -> Bool {
        switch source {
        case .time: true
        case .pointer(let place): shape.at(place)?.format == .dateTime
        case .item(let place): each.flatMap { shape.at($0)?.items?.at(place)?.format } == .dateTime
        default: false
        }
    }
}

/// An edit of a fold, told by the older image.
struct SiteEdit {
    enum Token: Hashable {
        case name(MemberName)
        case found(TracedWay.Found)
    }

    let kind: Edit.Kind
    /// Where in its slot it is made.
    let within: [Token]
    let keep: Int?
    /// Whether values are compared as moments.
    let isInstant: Bool
    /// Nothing for `unset`.
    let value: TracedWay.Found
    let conditions: Set<Condition>?

    var term: Term? { if case .term(let term) = value { term } else { nil } }

    /// Whether all of it can be told.
    var isClear: Bool { value != .unclear && !within.contains(.found(.unclear)) }
}

extension TracedWay.Found {
    fileprivate func mapped(_ change: (Term) -> Term) -> TracedWay.Found {
        if case .term(let term) = self { .term(change(term)) } else { self }
    }
}
