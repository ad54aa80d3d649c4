internal import Bytes
internal import EventModel
internal import JSONText

/// Describes what does not fit. Only failed checks reach this code, so it may allocate.
extension ShapeProgram {
    func failure(_ node: Node, _ expected: String, _ text: RawSpan, _ start: Int) -> ShapeError {
        ShapeError(pointer: "", expected: expected, found: found(text, start, isSecret: node.isSecret))
    }

    func missing(_ node: Node, _ text: RawSpan, _ start: Int) -> ShapeError {
        var present: Set<Name> = []
        var walk = JSONWalker(text, at: start)
        _ = walk.enterObject()
        while let name = walk.nextName() {
            if let name = decodedString(text.slice(name)) { present.insert(name) }
            _ = walk.skipValue()
        }
        // Reports the bytewise first member, so that the message does not depend on the order of properties, which differs between a file
        // and the store.
        let absent = node.members.filter { members[$0].isRequired && !present.contains(name($0)) }
            .min { name($0).utf8.lexicographicallyPrecedes(name($1).utf8) }
        let expected = absent.map { nodes[members[$0].node].noun } ?? "there"
        return ShapeError(pointer: "", expected: expected, found: "nothing").inside(absent.map(name) ?? "")
    }

    func unknown(_ node: Node, _ text: RawSpan, _ name: JSONName, value: Int) -> ShapeError {
        let name = decodedString(text.slice(name)) ?? ""
        let hint = nearest(to: name, among: node.members.map(self.name)).map { " (did you mean \($0)?)" } ?? ""
        return ShapeError(
            pointer: "", expected: "absent: the shape has no such member\(hint)", found: found(text, value, isSecret: node.isSecret)
        ).inside(name)
    }

    func name(_ member: Int) -> String { String(decoding: names[members[member].name], as: UTF8.self) }

    func range(_ node: Node) -> String {
        if node.least == node.most { return "\(node.least)" }
        if node.most == .max { return "at least \(node.least)" }
        return node.least == 0 ? "at most \(node.most)" : "\(node.least) to \(node.most)"
    }

    private func found(_ text: RawSpan, _ start: Int, isSecret: Bool) -> String {
        switch text.peek(at: start) {
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "["): return "an array"
        case UInt8(ascii: "\"") where isSecret: return "a string that is not shown"
        case _ where isSecret: return "a value that is not shown"
        default:
            var walk = JSONWalker(text, at: start)
            _ = walk.skipValue()
            let count = max(walk.end - start, 0)
            let shown = String(decoding: [UInt8](copying: text.slice(walk.end - count, min(count, 60))), as: UTF8.self)
            return count > 60 ? shown + "…" : shown
        }
    }
}

extension ShapeProgram.Node {
    /// A description of the expected value.
    var noun: String {
        let noun: String =
            switch kind {
            case .object: inner >= 0 ? "an object (a map)" : "an object"
            case .array: "an array"
            case .string: format?.words ?? "a string"
            case .integer: "an integer"
            case .number: "a number"
            case .boolean: "true or false"
            case .null: "null"
            case .any: "any value"
            }
        return isNullable ? noun + " or null" : noun
    }
}

extension Shape.Format {
    /// A description of the format.
    package var words: String {
        switch self {
        case .dateTime: "a date and time such as 2026-01-31T12:00:00Z"
        case .date: "a date such as 2026-01-31"
        }
    }
}

extension ShapeError {
    /// The problem with its pointer extended by the object or array that contains the value.
    func inside(_ name: String) -> ShapeError {
        var outer = self
        outer.pointer = JSONPointer(tokens: [MemberName(name)]).description + pointer
        return outer
    }
}
