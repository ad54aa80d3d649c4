internal import Bytes
internal import JSONText

/// A text composed of literals and members in braces, such as `pkg-{/name}:{/architecture}`. The context determines what the braces
/// contain: pointers in `compute` and stream names, sources in projections, captures in stream patterns.
package struct Template<Member: Hashable & Sendable>: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case literal(String)
        case member(Member)
    }

    package let parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    /// Splits a text at its braces. A `}` without a preceding `{` remains part of its literal.
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

    /// The template with each member replaced.
    package func mapMembers(_ change: (Member) -> Member) -> Template {
        Template(parts: parts.map { part in if case .member(let member) = part { .member(change(member)) } else { part } })
    }
}

extension Template: CustomStringConvertible where Member: CustomStringConvertible {
    /// The template as a file writes it.
    package var description: String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let member): "{\(member)}"
            }
        }.joined()
    }
}

// A sign of syntax and a combining mark behind it form one `Character`, which is not that sign.
extension StringProtocol {
    /// Whether the text contains a sign, whatever stands behind it.
    package func has(_ sign: Unicode.Scalar) -> Bool { unicodeScalars.contains(sign) }

    package func begins(with sign: Unicode.Scalar) -> Bool { unicodeScalars.first == sign }
}

/// Why a text is not a valid expression, as a clause, and what to write instead.
package struct ExpressionError: Error, Hashable, Sendable, CustomStringConvertible {
    package let reason: String
    package let fix: String?

    package init(_ reason: String, fix: String? = nil) { (self.reason, self.fix) = (reason, fix) }

    package var description: String { reason }
}

extension JSONPointer {
    /// The pointer inside the braces of a template.
    init(inBraces text: String) throws(ExpressionError) {
        guard text.begins(with: "/") else { throw ExpressionError("{\(text)} holds no pointer", fix: "write {/\(text)}") }
        do { try self.init(text) } catch { throw ExpressionError("{\(text)} holds no pointer: \(error.reason)") }
    }
}
