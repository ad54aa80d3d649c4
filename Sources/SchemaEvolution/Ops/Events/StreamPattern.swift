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
    /// The bytes of each part that is a literal; nil for a capture.
    private let literals: [[UInt8]?]

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
        self.init(parts: parts)
    }

    init(parts: [Part]) {
        self.parts = parts
        literals = parts.map { part in if case .literal(let text) = part { Array(text.utf8) } else { nil } }
    }

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

    /// Where the captures are in a name, in the pattern's order; nil where the name does not match.
    func match(_ name: [UInt8]) -> [Range<Int>]? { match(name, least: 1) ?? match(name, least: 0) }

    /// - Parameter least: how many bytes, each a character of a stream's name, a capture has at the least.
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
