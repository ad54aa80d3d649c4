internal import Bytes
internal import JSONText

/// A text made of literals and of members in braces: `pkg-{/name}:{/architecture}`. What stands in the braces is the context's: pointers in
/// `compute` and in the names of streams, sources in projections, captures in patterns of names.
package struct Template<Member: Hashable & Sendable>: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case literal(String)
        case member(Member)
    }

    package let parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    /// Splits a text at its braces. A `}` without a `{` before it stays in its literal.
    init(_ text: String, member: (String) throws(ExpressionError) -> Member) throws(ExpressionError) {
        var (parts, rest) = ([Part](), text[...])
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")) {
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            guard let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}")) else {
                throw ExpressionError("there is a { without a } after it")
            }
            parts.append(.member(try member(String(rest[rest.utf8.index(after: open) ..< close]))))
            rest = rest[rest.utf8.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        self.parts = parts
    }

    var literals: [String] { parts.compactMap { part in if case .literal(let text) = part { text } else { nil } } }

    package var members: [Member] { parts.compactMap { part in if case .member(let member) = part { member } else { nil } } }

    /// The template with other members.
    package func mapMembers(_ change: (Member) -> Member) -> Template {
        Template(parts: parts.map { part in if case .member(let member) = part { .member(change(member)) } else { part } })
    }
}

extension Template: CustomStringConvertible where Member: CustomStringConvertible {
    /// As a file writes it.
    package var description: String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let member): "{\(member)}"
            }
        }.joined()
    }
}

/// Why a text is no expression, as a clause, and what to write instead.
package struct ExpressionError: Error, Hashable, Sendable {
    package let reason: String
    package let fix: String?

    package init(_ reason: String, fix: String? = nil) { (self.reason, self.fix) = (reason, fix) }
}

extension JSONPointer {
    /// The pointer that stands in a template's braces.
    init(inBraces text: String) throws(ExpressionError) {
        guard text.hasPrefix("/") else { throw ExpressionError("{\(text)} holds no pointer", fix: "write {/\(text)}") }
        do { try self.init(text) } catch { throw ExpressionError("{\(text)} holds no pointer: \(error.reason)") }
    }
}
