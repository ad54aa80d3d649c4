internal import EventModel

/// A text with captures that stream names are matched against: `setting-legacy_{key}`.
///
/// A capture ends before the first occurrence of the literal after it. It is empty only where no match has one or more characters in
/// each capture, as in the name of a stream whose member is an empty text.
package struct StreamPattern: Sendable, CustomStringConvertible {
    enum Part: Hashable, Sendable {
        case literal(String)
        case capture(String)
    }

    let parts: [Part]

    init(_ node: FileNode, _ what: String) throws(FileProblem) {
        let text = try node.text(what)
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw node.problem("\(what) has a { without a }", rule: Rule.opArgument)
            }
            let name = String(rest[rest.index(after: open) ..< close])
            guard !name.isEmpty, !name.hasPrefix("/") else {
                throw node.problem(
                    "{\(name)} is no capture: names of streams are changed without a payload", rule: Rule.opArgument, fix: "write {key}")
            }
            if case .capture(let before)? = parts.last {
                throw node.problem(
                    "nothing tells where {\(before)} ends and {\(name)} begins", rule: Rule.opArgument, fix: "put a literal between them")
            }
            guard !parts.contains(.capture(name)) else { throw node.problem("{\(name)} stands there twice", rule: Rule.opArgument) }
            parts.append(.capture(name))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        for case .literal(let literal) in parts where !literal.utf8.allSatisfy(StreamName.allows) {
            throw node.problem("\(quoted(literal)) holds a character that a stream name can't", rule: Rule.opArgument)
        }
        self.parts = parts
    }

    init(parts: [Part]) { self.parts = parts }

    var captures: Set<String> {
        Set(parts.compactMap { part in if case .capture(let name) = part { name } else { nil } })
    }

    package var description: String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .capture(let name): "{\(name)}"
            }
        }.joined()
    }

    /// The captured texts of a name, by capture; nil where the name does not match.
    func match(_ name: String) -> [String: Substring]? { match(name, least: 1) ?? match(name, least: 0) }

    /// - Parameter least: how many characters a capture has at the least.
    private func match(_ name: String, least: Int) -> [String: Substring]? {
        var captured: [String: Substring] = [:]
        var rest = name[...]
        for (index, part) in parts.enumerated() {
            switch part {
            case .literal(let text):
                guard rest.hasPrefix(text) else { return nil }
                rest = rest.dropFirst(text.count)
            case .capture(let key):
                var end = rest.endIndex
                if index + 1 < parts.count, case .literal(let next) = parts[index + 1] {
                    guard let place = rest.dropFirst(least).firstRange(of: next) else { return nil }
                    end = place.lowerBound
                }
                guard least == 0 || end > rest.startIndex else { return nil }
                captured[key] = rest[..<end]
                rest = rest[end...]
            }
        }
        return rest.isEmpty ? captured : nil
    }

    func fill(_ captured: [String: Substring]) -> String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .capture(let name): captured[name].map(String.init) ?? ""
            }
        }.joined()
    }
}
