internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension Source {
    /// A source as a projection file writes it: a text, or a map with one member.
    init(_ node: FileNode, _ what: String) throws(FileProblem) {
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

    /// A source that is written as a text and is no template.
    init(plain node: FileNode, _ what: String) throws(FileProblem) {
        let text = try node.text(what)
        guard !text.contains("{") else { throw node.problem("\(what) can't be a template") }
        self = try Source(text: text, of: node, what)
    }

    init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        if text.contains("{") || text.contains("}") {
            self = .template(try [TemplatePiece](text: text, of: node, what))
            return
        }
        guard text.hasPrefix("$") else {
            self = .pointer(try JSONPointer(text: text, of: node, what))
            return
        }
        let name = text.prefix { $0 != "/" }
        let rest = String(text.dropFirst(name.count))
        switch (name, rest.isEmpty) {
        case ("$payload", true): self = .payload
        case ("$stream", true): self = .stream
        case ("$type", true): self = .type
        case ("$time", true): self = .time
        case ("$position", true): self = .position
        case ("$item", _): self = .item(try JSONPointer(text: rest, of: node, what))
        case ("$metadata", false): self = .metadata(try JSONPointer(text: rest, of: node, what))
        default:
            throw node.problem(
                "there is no source \(quoted(text))",
                fix: "the sources are a pointer, $stream, $type, $time, $position, $payload, $metadata/x, $item and $item/x")
        }
    }
}

extension [TemplatePiece] {
    /// Splits a text at its braces, which hold sources.
    init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        self = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
                throw node.problem("\(what) has a brace without its partner: \(quoted(text))")
            }
            if open > rest.startIndex { append(.literal(String(rest[..<open]))) }
            let inner = String(rest[rest.index(after: open) ..< close])
            guard !inner.contains("{") else { throw node.problem("\(what) has a brace within braces: \(quoted(text))") }
            append(.source(try Source(text: inner, of: node, what)))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { append(.literal(String(rest))) }
    }
}

extension JSONPointer {
    init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        do { try self.init(text) } catch {
            throw node.problem(
                "\(what) must be a pointer or another source, not \(quoted(text)): \(error.reason)",
                fix: text.hasPrefix("/") ? "~ is written ~0 and / within a name ~1" : "a member is /\(text), a constant {value: \(text)}")
        }
    }
}
