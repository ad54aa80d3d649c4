internal import EventModel
package import JSONText

/// A location in a file: line and column, counted from 1, the column in Unicode scalars.
package struct FileLocation: Hashable, Sendable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
        (self.file, self.line, self.column) = (file, line, column)
    }
}

/// A node of a version or projection file, with its location. Members keep their order.
package struct FileNode: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case null
        case bool(Bool)
        /// The number's text as written, a valid JSON number.
        case number(String)
        case string(String)
        case list([FileNode])
        case map([Member])
    }

    package struct Member: Hashable, Sendable {
        package let name: String
        /// The location of the name; the value has its own location.
        package let place: FileLocation
        package let value: FileNode

        package init(name: String, place: FileLocation, value: FileNode) {
            (self.name, self.place, self.value) = (name, place, value)
        }
    }

    package let kind: Kind
    package let mark: FileLocation

    package init(_ kind: Kind, at mark: FileLocation) { (self.kind, self.mark) = (kind, mark) }

    /// The value of a map's member; nil if the member is absent or this is no map.
    package func member(_ name: String) -> FileNode? {
        guard case .map(let members) = kind else { return nil }
        return members.first { $0.name.isSame(as: name) }?.value
    }

    /// The number of nodes in this tree, including this one.
    var count: Int {
        switch kind {
        case .list(let nodes): nodes.reduce(1) { $0 + $1.count }
        case .map(let members): members.reduce(1) { $0 + $1.value.count }
        default: 1
        }
    }

    /// The value without locations.
    package var json: JSONValue {
        switch kind {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text)
        case .string(let text): .string(text)
        case .list(let nodes): .array(nodes.map(\.json))
        case .map(let members): .object(members.map { .init(name: $0.name, value: $0.value.json) })
        }
    }

    /// The value as steps and folds write it into events and rows: in canonical spelling.
    package var constant: JSONValue { json.normal }

    /// A description of the node for messages: its kind, and its value if that is short.
    package var words: String {
        switch kind {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): "the number \(text.prefix(40))"
        case .string(let text): "the text \(quoted(text))"
        case .list: "a list"
        case .map: "a map"
        }
    }
}

/// Typed access. Errors name the expected value, the actual one and the location.
extension FileNode {
    package func problem(_ message: String, rule: String = FileRule.value, fix: String? = nil) -> FileProblem {
        FileProblem(rule, message, at: mark, fix: fix)
    }

    private func mismatch(_ what: String, _ expected: String, fix: String? = nil) -> FileProblem {
        problem("\(what) must be \(expected), not \(words)", fix: fix)
    }

    package func text(_ what: String) throws(FileProblem) -> String {
        if case .string(let text) = kind { return text }
        if case .number(let text) = kind {
            throw mismatch(what, "a text", fix: "put it in quotes: \"\(text)\"").withRepairs(becomes(.string(text)).certain)
        }
        if case .bool(let value) = kind {
            throw mismatch(what, "a text", fix: "put it in quotes: \"\(value)\"").withRepairs(becomes(.string("\(value)")).certain)
        }
        throw mismatch(what, "a text")
    }

    package func integer(_ what: String, from least: Int = .min, through most: Int = .max) throws(FileProblem) -> Int {
        guard case .number(let text) = kind, let value = Int(text), text != "-0" else {
            guard case .string(let text) = kind, let value = Int(text) else { throw mismatch(what, "a whole number") }
            throw mismatch(what, "a whole number", fix: "take the quotes off").withRepairs(becomes(.number("\(value)")).certain)
        }
        guard value >= least else {
            throw problem("\(what) must be at least \(least), not \(value)").withRepairs(becomes(.number("\(least)")))
        }
        guard value <= most else {
            throw problem("\(what) must be at most \(most), not \(value)").withRepairs(becomes(.number("\(most)")))
        }
        return value
    }

    package func flag(_ what: String) throws(FileProblem) -> Bool {
        guard case .bool(let value) = kind else {
            let meant: Bool? =
                switch kind {
                case .string("yes"), .string("on"), .string("True"), .string("true"): true
                case .string("no"), .string("off"), .string("False"), .string("false"): false
                default: nil
                }
            throw mismatch(what, "true or false", fix: "only true and false are flags; yes, no, on and off are texts")
                .withRepairs(meant.map { becomes(.bool($0)).certain })
        }
        return value
    }

    package func list(_ what: String) throws(FileProblem) -> [FileNode] {
        guard case .list(let nodes) = kind else { throw mismatch(what, "a list") }
        return nodes
    }

    @discardableResult
    package func map(_ what: String) throws(FileProblem) -> [Member] {
        guard case .map(let members) = kind else { throw mismatch(what, "a map") }
        return members
    }

    /// The members of a map, which may have no other names than these.
    @discardableResult
    package func map(_ what: String, allowing names: [String]) throws(FileProblem) -> [Member] {
        let members = try map(what)
        for member in members where !names.contains(member.name) { throw member.unknown(in: what, known: names) }
        return members
    }

    /// A list of texts, or a single text.
    package func texts(_ what: String) throws(FileProblem) -> [String] {
        if case .string(let text) = kind { return [text] }
        var result: [String] = []
        for node in try list(what) { result.append(try node.text("each of \(what)")) }
        return result
    }

    /// An RFC 6901 pointer.
    package func pointer(_ what: String) throws(FileProblem) -> JSONPointer {
        let text = try text(what)
        do { return try JSONPointer(text) } catch {
            throw problem(
                "\(what) must be a pointer, not \(quoted(text)): \(error.reason)",
                fix: !text.begins(with: "/")
                    ? "begin it with a slash: /\(text)" : text.contains("~") ? "~ is written ~0 and / within a name ~1" : nil
                // A slash inside the text may be part of a member name.
            ).withRepairs(text.begins(with: "/") ? nil : becomes(.string("/" + text)).certain(where: !text.has("/")))
        }
    }

    package func pointers(_ what: String) throws(FileProblem) -> [JSONPointer] {
        try list(what).map { node throws(FileProblem) in try node.pointer(what) }
    }

    /// The value of a required member.
    /// - Parameters:
    ///   - choices: the possible values, in words, for the fix.
    ///   - guess: a valid value, for the repair.
    package func required(
        _ name: String, of what: String, choices: String? = nil, guess: JSONValue? = nil
    ) throws(FileProblem) -> FileNode {
        guard let value = member(name) else {
            _ = try map(what)
            throw problem(
                "\(what) has no \(quoted(name))", rule: FileRule.member, fix: "add \(name):" + (choices.map { " \($0)" } ?? "")
            ).withRepairs(guess.map { mark.repair(name, to: $0) })
        }
        return value
    }

    /// A text that must be one of the given words.
    package func word(_ what: String, of known: [String], why: String) throws(FileProblem) -> String {
        let text = try text(what)
        if known.contains(text) { return text }
        throw problem("\(what) must be \(known.joined(separator: " or ")), not \(quoted(text))", rule: Rule.opArgument, fix: why)
            .withRepairs(swapped(text, among: known))
    }

    /// The repair that replaces an unknown word by the nearest known one.
    func swapped(_ word: String, among known: [String]) -> Repair? {
        nearest(to: word, among: known).map { becomes(.string($0)).certain(where: isTypo(word, of: $0, among: known)) }
    }
}

extension FileNode.Member {
    package func problem(_ message: String, rule: String = FileRule.member, fix: String? = nil) -> FileProblem {
        FileProblem(rule, message, at: place, fix: fix)
    }

    /// The problem that `what` has no such member. The fix suggests the nearest known name.
    package func unknown(in what: String, known: [String], rule: String = FileRule.member) -> FileProblem {
        let known = known.filter { !$0.isEmpty }
        let meant = nearest(to: name, among: known) ?? (name == "to" && known.contains("path") ? "path" : nil)
        let fix = meant.map { "did you mean \($0)?" } ?? "\(what) may have: \(known.joined(separator: ", "))"
        return problem("\(what) has no member \(quoted(name))", rule: rule, fix: fix).withRepairs(
            meant.map { place.repair(.rename($0)).certain(where: isTypo(name, of: $0, among: known)) })
    }
}
