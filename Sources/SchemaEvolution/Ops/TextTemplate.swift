internal import Bytes
internal import EventModel
package import JSONText

/// A text made of literals and members: `"{/first} {/last}"`.
package struct TextTemplate: Sendable {
    package enum Part: Sendable {
        case literal([UInt8])
        case member(JSONPointer)
    }

    package let parts: [Part]

    init(_ node: FileNode) throws(FileProblem) {
        var parts: [Part] = []
        var rest = try node.text("template")[...]
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { parts.append(.literal(Array(rest[..<open].utf8))) }
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw node.problem("the template has a { without a }", rule: Rule.opArgument)
            }
            let text = String(rest[rest.index(after: open) ..< close])
            do {
                parts.append(.member(try JSONPointer(text)))
            } catch {
                throw node.problem("{\(text)} holds no pointer: \(error.reason)", rule: Rule.opArgument, fix: "write {/\(text)}")
            }
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(Array(rest.utf8))) }
        guard parts.contains(where: { if case .member = $0 { true } else { false } }) else {
            throw node.problem("the template names no member", rule: Rule.opArgument, fix: "a constant is added: add: {path: …, value: …}")
        }
        self.parts = parts
    }

    var members: [JSONPointer] {
        parts.compactMap { part in
            if case .member(let pointer) = part { pointer } else { nil }
        }
    }

    /// Appends the text; false where a member is absent, null or no scalar.
    func write(_ doc: inout Splice, at object: Splice.Node, into output: inout ByteBuffer) -> Bool {
        for part in parts {
            switch part {
            case .literal(let text): output.append(text)
            case .member(let pointer):
                guard let node = doc.find(pointer, from: object) else { return false }
                switch doc.kind(node) {
                case .string, .number, .true, .false: doc.content(of: node, into: &output)
                case .object, .array, .null: return false
                }
            }
        }
        return true
    }

    /// The same on a draft; nil where a member is absent, null or no scalar.
    func write(_ draft: inout FusedDraft) -> Int? {
        var made: [FusedDraft.Part] = []
        for part in parts {
            switch part {
            case .literal(let text): made.append(.literal(text))
            case .member(let pointer):
                guard let node = draft.value(at: pointer, from: draft.root) else { return nil }
                switch draft.kind(node) {
                case .string, .number, .true, .false: made.append(.content(node))
                case .object, .array, .null: return nil
                }
            }
        }
        return draft.concatenate(made)
    }
}
