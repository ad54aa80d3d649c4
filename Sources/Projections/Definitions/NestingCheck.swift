internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Finds targets inside another target that is not an object: members of a number or text can't be changed.
struct NestingCheck {
    /// A change after which its target is not an object.
    private struct Plain {
        /// The fold that makes the change, and its index in the fold; nil for the initial value of a new row.
        var fold: FileLocation?
        var order = -1
        /// Whether the change is made whenever its fold runs.
        var isCertain: Bool
    }

    private(set) var findings: [Finding] = []
    private var plain: [[Target.Token]: [Plain]] = [:]

    init(_ projection: DeclaredProjection, at version: SchemaVersion, _ history: History) {
        var edits: [(edit: Edit, fold: FileLocation, order: Int)] = []
        var open: Set<[Target.Token]> = []
        for (type, rules) in projection.on {
            guard let shape = history.shape(of: type.text, at: version)?.shape else { continue }
            for rule in rules {
                let item = rule.each.flatMap { shape.at($0)?.items }
                for (order, edit) in rule.edits.enumerated() {
                    edits.append((edit, rule.mark, order))
                    if edit.kind == .unset { continue }
                    if Self.mayBeObject(edit, shape, item) {
                        open.insert(edit.target.tokens)
                    } else {
                        let isCertain = edit.source.pointers.allSatisfy { shape.isAlwaysPresent(at: $0) } && !edit.source.readsItem
                        plain[edit.target.tokens, default: []].append(Plain(fold: rule.mark, order: order, isCertain: isCertain))
                    }
                }
            }
        }
        for (target, value) in projection.initial {
            if case .object = value { continue }
            plain[target.tokens, default: []].append(Plain(fold: nil, isCertain: !open.contains(target.tokens)))
        }
        if plain.isEmpty { return }
        for (edit, fold, order) in edits.sorted(by: { ($0.edit.mark.line, $0.edit.mark.column) < ($1.edit.mark.line, $1.edit.mark.column) })
        {
            check(edit, fold, order, at: version)
        }
    }

    private mutating func check(_ edit: Edit, _ fold: FileLocation, _ order: Int, at version: SchemaVersion) {
        let tokens = edit.target.tokens
        for count in tokens.indices.dropFirst() {
            guard let outer = plain[Array(tokens[..<count])] else { continue }
            let isSure = outer.contains { $0.isCertain && ($0.fold == nil || $0.fold == fold && $0.order < order) }
            let text = tokens[..<count].map { "/\($0.words)" }.joined()
            findings.append(
                Finding(
                    ProjectionRule.kind, isSure ? .error : .warning, at: edit.mark,
                    "\(edit.target.text) lies within \(text), which is \(isSure ? "" : "made ")no object at \(version)",
                    fix: "choose another location in the row for one of them"))
            return
        }
    }

    private static func mayBeObject(_ edit: Edit, _ shape: Shape, _ item: Shape?) -> Bool {
        guard edit.kind == .set || edit.kind == .initial else { return false }
        func mayBe(_ shape: Shape?) -> Bool { shape.map { $0.kind == .object || $0.kind == .any } ?? true }
        switch edit.source {
        case .pointer(let pointer): return mayBe(shape.at(pointer))
        case .item(let pointer): return mayBe(item?.at(pointer))
        case .constant(let value): if case .object = value { return true } else { return false }
        case .payload, .row, .metadata: return true
        case .stream, .type, .time, .position, .day, .month, .template: return false
        }
    }
}

extension Target.Token {
    fileprivate var words: String {
        switch self {
        case .name(let name): name.text
        case .template: "{…}"
        }
    }
}
