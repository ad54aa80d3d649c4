internal import EventModel

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
                guard !name.isEmpty, !name.hasPrefix("/") else {
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
