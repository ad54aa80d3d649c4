package import EventModel
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
                noteAmbiguous(template, type, &site)
                if isKept(template, of: type, site) {
                    site.note(
                        Rule.undecided, .warning,
                        "\(type): streams named \(quoted(template.description)) become \(quoted(made.description)), and the file keeps the "
                            + "template: nothing can be appended to them", fix: "declare stream: \(quoted(made.description))")
                } else {
                    site.types[type]?.stream = made
                }
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

    /// Whether the version declares a template that it should not keep. An error would refuse what earlier programs have registered, which
    /// took such a template for one that does not match.
    private func isKept(_ template: StreamTemplate, of type: String, _ site: StepContext) -> Bool {
        let standsForMembers = from.captured(in: template)?.values.allSatisfy { parts in
            if parts.count == 1, case .member? = parts.first { true } else { false }
        }
        return standsForMembers == false && site.declared(type)?.stream == template
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

    /// Warns if a member may contain the literal at which its capture ends on one side: the rekey then gives another name than the
    /// template. If only the beginning of the name changes, captures that end elsewhere make up the same name.
    private func noteAmbiguous(_ template: StreamTemplate, _ type: String, _ site: inout StepContext) {
        guard from.behindPrefix != to.behindPrefix, let captured = from.captured(in: template) else { return }
        let shape = site.types[type]?.shape
        for parts in [from.template.parts, to.template.parts] {
            for case (.member(let name), .literal(let literal)) in zip(parts, parts.dropFirst()) {
                let odd = captured[name, default: []].compactMap { part -> String? in
                    switch part {
                    case .literal(let text): text.contains(literal) ? quoted(text) : nil
                    case .member(let pointer):
                        shape?.shape(at: pointer)?.mayContain(literal) == true ? pointer.description : nil
                    }
                }.first
                guard let odd else { continue }
                site.note(
                    Rule.undecided, .warning,
                    "\(type): \(odd) may contain \(quoted(literal)), where its capture ends: the rekey takes such an event into a "
                        + "stream that the template does not name, to which nothing can be appended",
                    fix: "see that no \(odd) contains it: a drill, and the laws on the whole log, prove it on the data")
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
        return alphabet.map { literal.utf8.allSatisfy($0.utf8.contains) } ?? true
    }

    /// The characters that texts of its values may have, of which none is empty; nil if they may have any.
    private var alphabet: String? {
        switch (kind, format) {
        case (.integer, _), (.number, _): "0123456789+-.eE"
        case (.boolean, _): "truefals"
        case (.string, .date?): "0123456789-"
        case (.string, .dateTime?): "0123456789+-.:TZ"
        default: nil
        }
    }
}

extension StreamPattern {
    /// The template that produces the new names; nil if the parts of the old template do not match this pattern.
    func renaming(_ template: StreamTemplate, to new: StreamPattern) -> StreamTemplate? {
        guard let captured = captured(in: template) else { return nil }
        return StreamTemplate(
            parts: new.template.parts.flatMap { part -> [StreamTemplate.Part] in
                switch part {
                case .literal(let text): [.literal(text)]
                case .member(let name): captured[name, default: []]
                }
            }
        ).merged
    }

    /// What each capture stands for in a template: one member, or in the last place everything that is left; nil if the template does not
    /// match this pattern part by part.
    func captured(in template: StreamTemplate) -> [String: [StreamTemplate.Part]]? {
        var rest = template.parts[...]
        var captured: [String: [StreamTemplate.Part]] = [:]
        for (index, wanted) in self.template.parts.enumerated() {
            guard let part = rest.popFirst() else { return nil }
            let left = self.template.parts.count - index - 1
            switch (part, wanted) {
            case (.literal(let text), .literal(let other)) where text == other: break
            case (.literal(let text), .literal(let other)) where left == 1 && text.utf8.starts(with: other.utf8):
                rest = [.literal(String(decoding: text.utf8.dropFirst(other.utf8.count), as: UTF8.self))] + rest
            case (_, .member(let name)) where left == 0:
                captured[name] = [part] + rest
                rest = []
            case (.member, .member(let name)): captured[name] = [part]
            default: return nil
            }
        }
        return rest.isEmpty ? captured : nil
    }

    /// The pattern without what stands in front of its first capture.
    fileprivate var behindPrefix: ArraySlice<Template<String>.Part> {
        template.parts.drop { part in if case .literal = part { true } else { false } }
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

/// A pattern with captures that is matched against stream names: `setting-legacy_{key}`.
///
/// A capture ends before the first occurrence of the literal after it. A capture is empty only if no match exists in which all captures are
/// non-empty, as in the name of a stream whose member is an empty text.
package struct StreamPattern: Sendable, CustomStringConvertible {
    let template: Template<String>
    /// The bytes of each literal part; nil for a capture.
    private let literals: [[UInt8]?]

    init(_ node: FileNode, _ what: String) throws(FileProblem) {
        let text = try node.text(what)
        let template: Template<String>
        do {
            template = try Template(text) { name throws(ExpressionError) in
                guard !name.isEmpty, !name.begins(with: "/") else {
                    throw ExpressionError("{\(name)} is not a capture: stream names are changed without a payload", fix: "write {key}")
                }
                return name
            }
        } catch { throw node.problem("\(quoted(text)) is not a pattern: \(error.reason)", rule: Rule.opArgument, fix: error.fix) }
        for case (.member(let before), .member(let name)) in zip(template.parts, template.parts.dropFirst()) {
            throw node.problem(
                "nothing tells where {\(before)} ends and {\(name)} begins", rule: Rule.opArgument, fix: "put a literal between them")
        }
        for (index, name) in template.members.enumerated() where template.members[..<index].contains(name) {
            throw node.problem("{\(name)} occurs twice", rule: Rule.opArgument)
        }
        for literal in template.literals where !literal.utf8.allSatisfy(StreamName.allows) {
            throw node.problem("\(quoted(literal)) contains a character that is not allowed in a stream name", rule: Rule.opArgument)
        }
        self.init(template)
    }

    init(_ template: Template<String>) {
        self.template = template
        literals = template.parts.map { part in if case .literal(let text) = part { Array(text.utf8) } else { nil } }
    }

    var captures: Set<String> { Set(template.members) }

    package var description: String { template.description }

    /// The ranges of the captures in a name, in the pattern's order; nil if the name does not match.
    func match(_ name: [UInt8]) -> [Range<Int>]? { match(name, least: 1) ?? match(name, least: 0) }

    /// - Parameter least: the minimum length of a capture in bytes, each of which is a character of the stream's name.
    private func match(_ name: [UInt8], least: Int) -> [Range<Int>]? {
        var captured: [Range<Int>] = []
        var place = 0
        for (index, literal) in literals.enumerated() {
            if let literal {
                guard Self.isLiteral(literal, at: place, of: name) else { return nil }
                place += literal.count
            } else {
                var end = name.count
                if index + 1 < literals.count, let next = literals[index + 1] {
                    end = place + least
                    while !Self.isLiteral(next, at: end, of: name) {
                        end += 1
                        if end > name.count { return nil }
                    }
                }
                guard end >= place + least else { return nil }
                captured.append(place ..< end)
                place = end
            }
        }
        return place == name.count ? captured : nil
    }

    private static func isLiteral(_ literal: [UInt8], at place: Int, of name: [UInt8]) -> Bool {
        guard place + literal.count <= name.count else { return false }
        for offset in literal.indices where name[place + offset] != literal[offset] { return false }
        return true
    }
}

/// Converts stream names from one version to another: the rekeys of the steps in between, in order.
package struct StreamRenaming: Sendable {
    private let from, to: SchemaVersion
    private let rekeys: [(step: SchemaVersion, rekey: BoundRekey)]

    /// - Parameter all: the rekeys of all steps, lowest first.
    init(from: SchemaVersion, to: SchemaVersion, _ all: [(step: SchemaVersion, rekey: BoundRekey)]) {
        (self.from, self.to) = (from, to)
        let (low, high) = (min(from, to), max(from, to))
        let rekeys = all.filter { low < $0.step && $0.step <= high }
        self.rekeys = from < to ? rekeys : rekeys.reversed()
    }

    /// Whether all streams keep their names.
    package var isEmpty: Bool { rekeys.isEmpty }

    /// - Throws: `EvstoreError.noImage` if the converted name would not convert back.
    package func name(of name: StreamName) throws(EvstoreError) -> StreamName {
        var name = name
        for (step, rekey) in rekeys {
            guard let next = rekey.renamed(name.text, from < to ? .up : .down), let made = StreamName(checking: next) else {
                throw .noImage(
                    ImageFailure(
                        type: "the stream", born: from, target: to, step: step, op: rekey.label, pointer: ImageFailure.streamName,
                        expected: "a name that leads back from the other version", found: quoted(name.text)))
            }
            name = made
        }
        return name
    }
}

extension StreamName {
    /// Nil if the text is not a valid stream name.
    fileprivate init?(checking text: String) {
        do { try self.init(text) } catch { return nil }
    }
}

extension History {
    package var rekeysStreams: Bool { !chain.rekeys.isEmpty }

    /// Converts stream names from one version to another.
    ///
    /// Data from before versions existed is stored under the names of version 1.
    package func renaming(from: SchemaVersion, to: SchemaVersion) -> StreamRenaming {
        StreamRenaming(from: from, to: to, chain.rekeys)
    }

    /// Converts the name of one stream.
    /// - Throws: `EvstoreError.noImage` if the converted name would not convert back.
    package func streamName(_ name: StreamName, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> StreamName {
        try renaming(from: from, to: to).name(of: name)
    }

    /// The names under which the log may store a stream, given its name at a version; newest first, each with the versions that use it. A
    /// stream is stored under the name that it had at the birth version of its first event.
    package func spellings(of stream: StreamName, at version: SchemaVersion) -> [StreamAlias] {
        var found: [StreamAlias] = []
        for number in (0 ... max(head, version).number).reversed() {
            let other = SchemaVersion(number)
            // The stream was never stored at a version where it can't be named.
            let name: StreamName
            do { name = try streamName(stream, from: version, to: other) } catch { continue }
            if let index = found.firstIndex(where: { $0.name == name }) {
                found[index].versions.insert(other)
            } else {
                found.append(StreamAlias(name: name, versions: [other]))
            }
        }
        return found
    }
}

/// One of the names of a stream, with the versions that use it.
package struct StreamAlias: Hashable, Sendable {
    package let name: StreamName
    package var versions: Set<SchemaVersion>
}
