internal import EventModel
internal import JSONText

/// `rekey {from: "setting-legacy_{key}", to: "setting-{key}"}`: renames streams by their names alone, without a payload.
struct Rekey: EventOp {
    static let name = "rekey"

    let from, to: StreamPattern

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("rekey", allowing: ["from", "to"])
        from = try StreamPattern(try arguments.required("from", of: "rekey"), "from")
        to = try StreamPattern(try arguments.required("to", of: "rekey"), "to")
        guard from.captures == to.captures else {
            let odd = from.captures.symmetricDifference(to.captures).sorted().map { "{\($0)}" }.joined(separator: ", ")
            throw arguments.problem(
                "\(odd) stands on one side only: the names could not be told apart on the way back", rule: Rule.opArgument,
                fix: "use the same captures in from and to")
        }
        guard from.template != to.template else { throw arguments.problem("rekey from \(from) to itself does nothing", rule: Rule.idle) }
    }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        let (old, new) = direction == .up ? (from, to) : (to, from)
        if let stream, let made = old.renaming(stream, to: new) {
            return [EventEffect(type: type, words: "is in a stream \(new), which was \(old)", stream: made)]
        }
        if let stream, !old.mayMatch(stream) { return nil }
        return [EventEffect(type: type, words: "is in a stream \(new) where that was \(old)")]
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        for type in site.types.sortedNames {
            guard let template = site.types[type]?.stream else { continue }
            if let made = from.renaming(template, to: to) {
                noteAbsent(template, type, &site)
                noteAmbiguous([template, made], type, &site)
                site.types[type]?.stream = made
            } else if from.mayMatch(template) {
                site.note(
                    Rule.undecided, .note, "which streams of \(type), \(quoted(template.description)), have such names depends on the data",
                    fix: "nothing to do: a drill, and the laws on the whole log, prove it on the data")
            }
        }
        var bound = BoundEventOp()
        bound.rekey = BoundRekey(from: from, to: to, label: site.label)
        return bound
    }

    /// Warns if a member of the template may be absent: the rekey leaves such a name unchanged, while the new template produces another
    /// one.
    private func noteAbsent(_ template: StreamTemplate, _ type: String, _ site: inout StepContext) {
        guard let shape = site.types[type]?.shape,
            let absent = template.members.first(where: { !shape.isAlwaysPresent(at: $0) || shape.shape(at: $0)?.isNullable == true })
        else { return }
        site.note(
            Rule.undecided, .warning, "\(type) need not have \(absent): a stream named without it keeps its name, and is another one then",
            fix: "require it, or name the streams by what is always there")
    }

    /// Warns if a member may contain the literal behind it in one of the templates: its capture ends there, so that the rekey gives another
    /// name than the template.
    private func noteAmbiguous(_ templates: [StreamTemplate], _ type: String, _ site: inout StepContext) {
        for parts in templates.map(\.parts) {
            for case (.member(let pointer), .literal(let literal)) in zip(parts, parts.dropFirst()) {
                guard site.types[type]?.shape.shape(at: pointer)?.mayContain(literal) == true else { continue }
                site.note(
                    Rule.undecided, .warning,
                    "\(type): \(pointer) may contain \(quoted(literal)), where its capture ends: the rekey takes such an event into a "
                        + "stream that the template does not name, to which nothing can be appended",
                    fix: "see that no \(pointer) contains it: a drill, and the laws on the whole log, prove it on the data")
                return
            }
        }
    }
}

extension Shape {
    /// Whether the text of a value, as a stream's name has it, may end too early if it ends at the first occurrence of a literal.
    fileprivate func mayContain(_ literal: String) -> Bool {
        if let choices {
            let pattern = StreamPattern(Template(parts: [.member(""), .literal(literal)]))
            return choices.contains { value in
                let text = Array(StreamName.encoded(value.word).utf8)
                return text.isEmpty || pattern.match(text + literal.utf8) != [0 ..< text.count]
            }
        }
        return ![.integer, .number].contains(kind) || literal.utf8.allSatisfy("0123456789+-.eE".utf8.contains)
    }
}

extension StreamPattern {
    /// The template that produces the new names; nil if the parts of the old template do not match this pattern.
    func renaming(_ template: StreamTemplate, to new: StreamPattern) -> StreamTemplate? {
        let parts = self.template.parts
        guard template.parts.count == parts.count else { return nil }
        var members: [String: JSONPointer] = [:]
        for (part, wanted) in zip(template.parts, parts) {
            switch (part, wanted) {
            case (.literal(let text), .literal(let other)) where text == other: break
            case (.member(let pointer), .member(let name)): members[name] = pointer
            default: return nil
            }
        }
        return StreamTemplate(
            parts: new.template.parts.compactMap { part in
                switch part {
                case .literal(let text): .literal(text)
                case .member(let name): members[name].map { .member($0) }
                }
            })
    }

    /// Whether names that a template produces may match, judged by the first literals.
    func mayMatch(_ template: StreamTemplate) -> Bool {
        guard case .literal(let mine)? = self.template.parts.first, case .literal(let other)? = template.parts.first else { return true }
        return mine.hasPrefix(other) || other.hasPrefix(mine)
    }
}

/// Renames streams in both directions.
struct BoundRekey: Sendable {
    let from, to: StreamPattern
    let label: String

    /// The name on the other side; nil if that name would not convert back to this one.
    func renamed(_ name: String, _ direction: Direction) -> String? {
        let (here, there) = direction == .up ? (from, to) : (to, from)
        let bytes = Array(name.utf8)
        let result = here.changed(bytes, to: there)
        guard there.changed(result, to: here) == bytes else { return nil }
        return result == bytes ? name : String(decoding: result, as: UTF8.self)
    }
}

extension StreamPattern {
    /// The name in another pattern with the same captures. A name that does not match stays unchanged.
    fileprivate func changed(_ name: [UInt8], to other: StreamPattern) -> [UInt8] {
        guard let captured = match(name) else { return name }
        let captures = template.members
        return other.template.parts.flatMap { part in
            switch part {
            case .literal(let text): Array(text.utf8)
            case .member(let capture): captures.firstIndex(of: capture).map { Array(name[captured[$0]]) } ?? []
            }
        }
    }
}
