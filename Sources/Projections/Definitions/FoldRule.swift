internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A fold of a projection file: what one event type does to a row.
struct FoldRule: Sendable {
    var guardTest: Guard?
    var guardMark: FileLocation?
    var edits: [Edit] = []
    var deletes = false
    var onlyExisting = false
    /// The list for whose elements the fold runs, once for each.
    var each: JSONPointer?
    /// The key of the row that events of the type are about, if it differs from the definition's.
    var key: Source?
    var keyMark: FileLocation?
    var mark: FileLocation
}

/// One change to one member of a row.
struct Edit: Sendable {
    /// In the order in which the edits of a fold are applied.
    enum Kind: String, CaseIterable, Sendable {
        case unset
        case initial = "init"
        case set, add, count, max, min, append, include, exclude
    }

    var kind: Kind
    var target: Target
    /// Not used by `unset`.
    var source: Source
    /// How many of the list's last elements `append` keeps; nil keeps all.
    var keep: Int?
    var mark: FileLocation
}

/// A location in a row: member names, of which one may be a template.
struct Target: Hashable, Sendable {
    enum Token: Hashable, Sendable {
        case name(Name)
        case template(Template<Source>)
    }

    var tokens: [Token]
    var text: String

    /// The sources that its templates read.
    var sources: [Source] {
        tokens.flatMap { token -> [Source] in if case .template(let template) = token { template.members } else { [] } }
    }

    /// The names before the first template.
    var fixed: [Name] {
        let names = tokens.map { token -> Name? in if case .name(let name) = token { name } else { nil } }
        return names.prefix { $0 != nil }.compactMap(\.self)
    }
}

extension FoldRule {
    private static let members = ["when", "only-existing", "each", "key", "delete"] + Edit.Kind.allCases.map(\.rawValue)

    /// The folds of one type: `delete`, a fold, or a list of folds, of which the first applicable one runs.
    static func list(_ node: FileNode, of type: String) throws(FileProblem) -> [FoldRule] {
        var rules: [FoldRule] = []
        switch node.kind {
        case .string("delete"):
            rules.append(FoldRule(deletes: true, mark: node.mark))
        case .list(let nodes):
            guard !nodes.isEmpty else { throw node.problem("\(type) has no fold") }
            for node in nodes { rules.append(try FoldRule(node, of: type)) }
        case .map:
            rules.append(try FoldRule(node, of: type))
        default:
            throw node.problem("what happens on \(type) must be a fold, a list of folds, or delete; not \(node.words)")
        }
        guard rules.count <= 64 else { throw node.problem("\(type) has \(rules.count) folds; 64 are the most") }
        for (index, rule) in rules.enumerated() {
            if rule.each != rules[0].each {
                throw FileProblem(FileRule.value, "the folds of \(type) must all have the same each", at: rule.mark)
            }
            if rule.key != rules[0].key {
                throw FileProblem(FileRule.value, "the folds of \(type) must all have the same key", at: rule.keyMark ?? rule.mark)
            }
            if rule.guardTest == nil, index + 1 < rules.count {
                throw FileProblem(
                    FileRule.value, "the folds after this one never run: it has no guard", at: rule.mark,
                    fix: "put the fold without `when` last")
            }
        }
        return rules
    }

    private init(_ node: FileNode, of type: String) throws(FileProblem) {
        self.init(mark: node.mark)
        let what = "the fold of \(type)"
        let given = try node.map(what, allowing: Self.members)
        guard given.contains(where: { $0.name != "key" }) else { throw node.problem("\(what) does nothing") }
        for member in given {
            switch member.name {
            case "when": (guardTest, guardMark) = (try Guard(member.value, in: .fold), member.value.mark)
            case "only-existing": onlyExisting = try member.value.flag("only-existing")
            case "key": (key, keyMark) = (try Source(key: member.value), member.value.mark)
            case "delete": deletes = try member.value.flag("delete")
            case "each": each = try member.value.pointer("each")
            case "unset":
                for text in try member.value.list("unset") {
                    edits.append(
                        Edit(kind: .unset, target: try Target(text.text("a target"), at: text.mark), source: .payload, mark: text.mark))
                }
            default:
                guard let kind = Edit.Kind(rawValue: member.name) else { continue }
                for change in try member.value.map(member.name) { edits.append(try Edit(kind, change)) }
            }
        }
        if deletes, let edit = edits.first {
            throw FileProblem(FileRule.value, "a fold that deletes its row can't also change it", at: edit.mark)
        }
        var seen: Set<Target> = []
        for edit in edits where !seen.insert(edit.target).inserted {
            throw FileProblem(FileRule.value, "\(quoted(edit.target.text)) is changed twice in one fold", at: edit.mark)
        }
        // Order: edits are sorted, since files keep the order of members while the store's canonical form sorts them; both must fold alike.
        let order = Edit.Kind.allCases
        edits.sort {
            let (a, b) = (order.firstIndex(of: $0.kind) ?? 0, order.firstIndex(of: $1.kind) ?? 0)
            return a != b ? a < b : Array($0.target.text.utf8).lexicographicallyPrecedes(Array($1.target.text.utf8))
        }
    }
}

extension Source {
    init(key node: FileNode) throws(FileProblem) {
        self = try Source(node, "key")
        if case .row = self { throw node.problem("a key can't come from the row, which it names") }
    }
}

extension Edit {
    fileprivate init(_ kind: Kind, _ member: FileNode.Member) throws(FileProblem) {
        let target = try Target(member.name, at: member.place)
        var (value, keep): (FileNode, Int?) = (member.value, nil)
        if kind == .append, let from = value.member("from") {
            try value.map("append", allowing: ["from", "keep"])
            keep = try value.member("keep")?.integer("keep", from: 1)
            value = from
        }
        let source = try Source(value, "the source of \(member.name)")
        self.init(kind: kind, target: target, source: source, keep: keep, mark: member.place)
    }
}

extension Target {
    /// Parses `/a/b`, or `/a/{/b}` if the name of one member comes from the event.
    init(_ text: String, at mark: FileLocation) throws(FileProblem) {
        guard text.begins(with: "/"), text != "/" else {
            throw FileProblem(
                FileRule.value, "a target must be a pointer to a member of the row, not \(quoted(text))", at: mark,
                fix: ["", "/"].contains(text) ? "name a member, such as /total" : "begin it with a slash: /\(text)")
        }
        self.init(tokens: [], text: text)
        var (token, depth) = ("", 0)
        for sign in text.unicodeScalars.dropFirst() {
            if sign == "{" { depth += 1 }
            if sign == "}" { depth -= 1 }
            if sign == "/", depth == 0 {
                tokens.append(try Self.token(token, of: text, at: mark))
                token = ""
            } else {
                token.unicodeScalars.append(sign)
            }
        }
        tokens.append(try Self.token(token, of: text, at: mark))
        let templates = tokens.filter { if case .template = $0 { true } else { false } }
        if templates.count > 1 {
            throw FileProblem(FileRule.value, "a target may hold one template member, \(text) has \(templates.count)", at: mark)
        }
        if fixed.isEmpty { throw FileProblem(FileRule.value, "the first member of a target can't be a template: \(text)", at: mark) }
    }

    private static func token(_ text: String, of target: String, at mark: FileLocation) throws(FileProblem) -> Token {
        if text.has("{") || text.has("}") {
            return .template(try Template(text: text, of: FileNode(.string(target), at: mark), "the target"))
        }
        return .name(Name(try JSONPointer(text: "/" + text, of: FileNode(.string(target), at: mark), "the target").tokens[0].text))
    }
}
