internal import EventModel
internal import JSONText

/// The arguments that `split` and `join` share: how a text is split into parts and joined from them.
struct SeparatorRule: Sendable {
    /// The members that hold the parts, in order; the first is always present.
    let parts: [JSONPointer]
    let separator: String
    /// Whether a text with too many separators is split at the last ones.
    let isAtLast: Bool
    /// Whether a text with too few separators is refused.
    let refusesMissing: Bool
    /// The reason for losing texts that change in a round trip.
    let because: String?

    private static let partsMax = 63

    init(_ arguments: FileNode, parts name: String, of op: String) throws(FileProblem) {
        var parts: [JSONPointer] = []
        let list = try arguments.required(name, of: op)
        for node in try list.list(name) { parts.append(try node.pointer(name)) }
        guard parts.count >= 2, Set(parts).count == parts.count else {
            throw list.problem("\(name) must be at least two members, each once", rule: Rule.opArgument)
        }
        guard parts.count <= Self.partsMax else {
            throw list.problem(
                "\(name) has \(parts.count) members, and at most \(Self.partsMax) are parts of one text", rule: Rule.opArgument)
        }
        self.parts = parts
        separator = try arguments.required("separator", of: op, choices: "the text between two parts", guess: .string(" "))
            .text("separator")
        guard !separator.isEmpty else { throw arguments.problem("the separator is empty", rule: Rule.opArgument) }
        let ends = ["first", "last"]
        let end = try arguments.required("at", of: op, choices: "first or last", guess: .string("first"))
        isAtLast = try end.word("at", of: ends, why: "at says which separator counts where the text has several") == "last"
        because = try arguments.member("because")?.text("because")
        let answers = ["absent", "error"]
        let missing = try arguments.required("missing", of: op, choices: "absent or error", guess: .string("absent"))
        refusesMissing = try missing.word("missing", of: answers, why: "missing says what a text without separator is") == "error"
    }

    /// Whether a member is a string; adds a finding if it is not.
    func checkText(_ shape: Shape, _ pointer: JSONPointer, _ site: inout BindingContext) -> Bool {
        if shape.kind == .string { return true }
        site.note(Rule.wrongKind, "\(pointer) is \(shape.noun), not a string", fix: "convert it to a string before")
        return false
    }

    /// The template with the parts in place of the whole.
    func split(_ template: StreamTemplate, _ whole: JSONPointer) -> StreamTemplate {
        StreamTemplate(
            parts: template.parts.flatMap { part in
                guard case .member(whole) = part else { return [part] }
                return Array(parts.map { [StreamTemplate.Part.member($0)] }.joined(separator: [.literal(separator)]))
            }
        ).merged
    }

    /// The template with the whole in place of the parts; nil if it contains only some parts or joins them by another separator.
    func join(_ template: StreamTemplate, _ whole: JSONPointer) -> StreamTemplate? {
        guard template.members.contains(where: parts.contains) else { return template }
        let run = split(StreamTemplate(parts: [.member(whole)]), whole).parts
        var (result, rest) = ([StreamTemplate.Part](), template.parts[...])
        while let first = rest.first {
            if rest.starts(with: run) {
                result.append(.member(whole))
                rest = rest.dropFirst(run.count)
            } else {
                if case .member(let pointer) = first, parts.contains(pointer) { return nil }
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return StreamTemplate(parts: result)
    }
}

extension StreamTemplate {
    /// The template with adjacent literals merged.
    var merged: StreamTemplate {
        var result: [Part] = []
        for part in parts {
            if case .literal(let more) = part, case .literal(let text)? = result.last {
                result[result.count - 1] = .literal(text + more)
            } else {
                result.append(part)
            }
        }
        return StreamTemplate(parts: result)
    }
}

extension SeparatorRule {
    func effects(whole: JSONPointer, splits: Bool, in holder: JSONPointer) -> [OpEffect] {
        let (whole, parts) = (whole.below(holder), parts.map { $0.below(holder) })
        let all = parts.map(\.description).joined(separator: ", ")
        let missing = refusesMissing ? "the event is refused" : "absent"
        if splits {
            let place = "at the \(isAtLast ? "last" : "first") \(quoted(separator))"
            let rest = parts.dropFirst().map { OpEffect(.appears($0), "is split off \(whole) \(place); without one, \(missing)") }
            let first = OpEffect(.changes(whole), "is split \(place) into \(all); null stays null")
            return [first, OpEffect(.moves(from: whole, to: parts[0]), "")] + rest
        }
        let rest = parts.dropFirst().map { OpEffect(.goes($0), "goes into \(whole)") }
        let first = OpEffect(
            .changes(parts[0]),
            "is joined of those of \(all) that are there, with \(quoted(separator)) between; "
                + "where it is null, the others are lost; where it is absent and another is there, the event is refused")
        return [first, OpEffect(.moves(from: parts[0], to: whole), "")] + rest
    }
}
