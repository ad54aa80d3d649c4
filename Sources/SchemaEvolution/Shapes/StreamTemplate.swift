internal import Bytes
internal import EventModel
package import JSONText

/// The name of the stream that an event belongs in, made of literals and members: `pkg-{/name}:{/architecture}`.
///
/// A member that is absent, or null, is left out with the literal before it. Bytes that a stream name
/// can't hold, and `%` itself, are percent-encoded.
package struct StreamTemplate: Hashable, Sendable, CustomStringConvertible {
    package enum Part: Hashable, Sendable {
        case literal(String)
        case member(JSONPointer)
    }

    package let parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    /// Parses the text of a template; the error is one sentence.
    package init(_ text: String) throws(TemplateError) {
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[open] == "{" else { throw TemplateError("there is a } without a { before it") }
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            guard let close = rest[open...].firstIndex(of: "}") else { throw TemplateError("there is a { without a } after it") }
            let pointer = rest[rest.index(after: open) ..< close]
            guard pointer.hasPrefix("/") else {
                throw TemplateError("{\(pointer)} holds no pointer: write {/\(pointer)}")
            }
            do { parts.append(.member(try JSONPointer(String(pointer)))) } catch {
                throw TemplateError("{\(pointer)} holds no pointer: \(error.reason)")
            }
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        guard !parts.isEmpty else { throw TemplateError("it is empty") }
        for case .literal(let text) in parts {
            for byte in text.utf8 where !StreamName.allows(byte) || byte == UInt8(ascii: "%") {
                throw TemplateError("the literal \(quoted(text)) holds a character that a stream name can't")
            }
        }
        self.parts = parts
    }

    package var description: String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let pointer): "{\(pointer)}"
            }
        }.joined()
    }

    /// The members that the name is made of.
    package var members: [JSONPointer] {
        parts.compactMap { part in
            if case .member(let pointer) = part { pointer } else { nil }
        }
    }

    /// The same template over other members: what a `move` does to it.
    package func mapMembers(_ change: (JSONPointer) -> JSONPointer) -> StreamTemplate {
        StreamTemplate(
            parts: parts.map { part in
                if case .member(let pointer) = part { .member(change(pointer)) } else { part }
            })
    }
}

/// What is wrong with a template, in one clause.
package struct TemplateError: Error, Hashable, Sendable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
