internal import EventModel
package import JSONText

extension Source {
    /// Reads a source as a projection file writes it: a text, or a map with one member.
    package init(_ node: FileNode, _ what: String) throws(FileProblem) {
        switch node.kind {
        case .string(let text): self = try Source(text: text, of: node, what)
        case .map(let members):
            guard members.count == 1, let member = members.first else {
                throw node.problem(
                    "\(what) must have exactly one member", fix: "write one of: {value: x}, {row: /p}, {day: /at}, {month: /at}")
            }
            switch member.name {
            case "value": self = .constant(member.value.constant)
            case "row": self = .row(try member.value.pointer("row"))
            case "day": self = .day(try Source(plain: member.value, "day"))
            case "month": self = .month(try Source(plain: member.value, "month"))
            default: throw member.unknown(in: what, known: ["value", "row", "day", "month"])
            }
        default:
            throw node.problem("\(what) must be a source, not \(node.words)", fix: "a constant is written {value: \(node.json.text)}")
        }
    }

    /// Reads a source that is written as a text and is not a template.
    package init(plain node: FileNode, _ what: String) throws(FileProblem) {
        let text = try node.text(what)
        guard !text.contains("{") else { throw node.problem("\(what) can't be a template") }
        self = try Source(text: text, of: node, what)
    }

    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        if text.contains("{") || text.contains("}") {
            self = .template(try Template(text: text, of: node, what))
        } else if text.hasPrefix("$") {
            do { self = try Source(text) } catch {
                throw node.problem(
                    error.reason,
                    fix: "the sources are a pointer, $stream, $type, $time, $position, $payload, $metadata/x, $item and $item/x")
            }
        } else {
            self = .pointer(try JSONPointer(text: text, of: node, what))
        }
    }
}

extension Source {
    fileprivate init(inBraces text: String) throws(ExpressionError) {
        guard !text.contains("{") else { throw ExpressionError("{\(text)} has a brace within braces") }
        try self.init(text)
    }
}

extension Template where Member == Source {
    /// A template whose members are sources.
    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        do throws(ExpressionError) {
            try self.init(text, member: Source.init(inBraces:))
            if literals.contains(where: { $0.contains("}") }) { throw ExpressionError("there is a } without a { before it") }
        } catch { throw node.problem("\(what) is not a template, \(quoted(text)): \(error.reason)", fix: error.fix) }
    }
}

extension JSONPointer {
    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        do { try self.init(text) } catch {
            throw node.problem(
                "\(what) must be a pointer or another source, not \(quoted(text)): \(error.reason)",
                fix: text.hasPrefix("/") ? "~ is written ~0 and / within a name ~1" : "a member is /\(text), a constant {value: \(text)}")
        }
    }
}
