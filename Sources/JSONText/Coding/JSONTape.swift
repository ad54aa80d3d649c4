internal import Bytes

/// One value, or one member's name, of a text.
struct JSONNode: BitwiseCopyable, Sendable {
    var kind: JSONKind
    var hasEscapes = false
    /// Of a string, what stands between the quotes.
    var start: Int32
    var end: Int32 = 0
    /// The node behind this one and all that it holds.
    var next: Int32 = 0
    /// Of an array, how many elements it has; of an object, its place among the objects.
    var extra: Int32 = 0
}

/// A text and the places of its values in it, in the order of the text; the members of an object are a name and a value each.
///
/// Used by one thread.
final class JSONTape {
    let bytes: [UInt8]
    let leaves: [JSONLeaf]
    let nodes: Slots<JSONNode>
    /// Of each object, the name that was asked for last, where the next search begins.
    private var hints: Slots<Int32>
    /// A null behind the text, for what is not there.
    let absent: Int

    init(_ bytes: [UInt8], _ limits: JSONLimits, checksNames: Bool, _ leaves: [JSONLeaf]) throws(JSONError) {
        guard bytes.count <= min(limits.bytes, Int(Int32.max)) else {
            throw JSONError("a text of at most \(limits.bytes) bytes was expected", at: limits.bytes)
        }
        (self.bytes, self.leaves) = (bytes, leaves)
        var nodes = Slots<JSONNode>(capacity: bytes.count / 8 + 4)
        var hints = Slots<Int32>(capacity: 4)
        var validator = Validator(bytes.lent, limits)
        try validator.lay(on: &nodes, &hints, checksNames: checksNames)
        absent = nodes.count
        nodes.append(JSONNode(kind: .null, start: 0, next: Int32(nodes.count + 1)))
        self.nodes = nodes
        self.hints = hints
    }

    /// The node of a member's value; nil where the object has no such member.
    func value(of name: String, in object: Int) -> Int? {
        let first = object + 1
        let end = Int(nodes[object].next)
        if first == end { return nil }
        let hint = Int(nodes[object].extra)
        let start = hints[hint] == 0 ? first : Int(hints[hint])
        var at = start
        repeat {
            if isName(at, name) {
                hints[hint] = Int32(truncatingIfNeeded: at)
                return at + 1
            }
            at = Int(nodes[at + 1].next)
            if at == end { at = first }
        } while at != start
        return nil
    }

    private func isName(_ index: Int, _ name: String) -> Bool {
        let node = nodes[index]
        if node.hasEscapes { return text(of: node)?.utf8.elementsEqual(name.utf8) ?? false }
        let bytes = bytes
        return bytes.lent.slice(Int(node.start), Int(node.end - node.start)).equals(utf8: name)
    }

    /// The text that a string or name denotes, or that a number is written as.
    func text(of node: JSONNode) -> String? {
        let bytes = bytes
        let literal = bytes.lent.slice(Int(node.start), Int(node.end - node.start))
        guard node.hasEscapes else { return String(utf8: literal) }
        var buffer = ByteBuffer(capacity: literal.byteCount)
        appendUnescaped(literal, into: &buffer)
        return String(utf8: buffer.bytes)
    }

    /// The names and indexes that lead to a node.
    func path(to target: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var at = 0
        while at < target, target < Int(nodes[at].next) {
            let isObject = nodes[at].kind == .object
            var child = at + 1
            var index = 0
            while true {
                let value = isObject ? child + 1 : child
                if target < Int(nodes[value].next) {
                    path.append(isObject ? JSONKey(stringValue: text(of: nodes[child]) ?? "") : JSONKey(intValue: index))
                    if target <= value { return path }
                    at = value
                    break
                }
                (child, index) = (Int(nodes[value].next), index + 1)
            }
        }
        return path
    }
}

extension Validator {
    /// Checks the text as `validate` does and notes where its values are.
    mutating func lay(on nodes: inout Slots<JSONNode>, _ hints: inout Slots<Int32>, checksNames: Bool) throws(JSONError) {
        skipSpaces()
        try lay(on: &nodes, &hints, checksNames, depth: 0)
        skipSpaces()
        guard offset == text.byteCount else { throw expected("the end of the text") }
    }

    private mutating func lay(
        on nodes: inout Slots<JSONNode>, _ hints: inout Slots<Int32>, _ checksNames: Bool, depth: Int
    ) throws(JSONError) {
        guard let kind = JSONKind(firstByte: current) else { throw expected("a value") }
        let index = nodes.count
        nodes.append(JSONNode(kind: kind, start: Int32(truncatingIfNeeded: offset)))
        switch kind {
        case .string:
            nodes[index].hasEscapes = try string()
            nodes[index].start &+= 1
            nodes[index].end = Int32(truncatingIfNeeded: offset &- 1)
        case .number: try number()
        case .object:
            nodes[index].extra = Int32(truncatingIfNeeded: hints.count)
            hints.append(0)
            try layMembers(on: &nodes, &hints, checksNames, depth: depth + 1)
        case .array: nodes[index].extra = try layElements(on: &nodes, &hints, checksNames, depth: depth + 1)
        case .true: try literal(Literal.true, last: nil)
        case .false: try literal(Literal.fals, last: UInt8(ascii: "e"))
        case .null: try literal(Literal.null, last: nil)
        }
        if kind != .string { nodes[index].end = Int32(truncatingIfNeeded: offset) }
        nodes[index].next = Int32(truncatingIfNeeded: nodes.count)
    }

    private mutating func layMembers(
        on nodes: inout Slots<JSONNode>, _ hints: inout Slots<Int32>, _ checksNames: Bool, depth: Int
    ) throws(JSONError) {
        guard depth <= depthMax else { throw expected("a text of at most \(depthMax) open containers") }
        offset &+= 1
        skipSpaces()
        if ends(with: UInt8(ascii: "}")) { return }
        let outer = names.count
        var seen: UInt64 = 0
        while true {
            guard current == UInt8(ascii: "\"") else { throw expected("a member's name") }
            var name = JSONNode(kind: .string, start: Int32(truncatingIfNeeded: offset &+ 1))
            if checksNames {
                let start = offset
                try self.name(outer: outer, seen: &seen)
                name.hasEscapes = hasEscape(from: start)
            } else {
                name.hasEscapes = try string()
            }
            name.end = Int32(truncatingIfNeeded: offset &- 1)
            name.next = Int32(truncatingIfNeeded: nodes.count &+ 1)
            nodes.append(name)
            skipSpaces()
            guard current == UInt8(ascii: ":") else { throw expected("a colon") }
            offset &+= 1
            skipSpaces()
            try lay(on: &nodes, &hints, checksNames, depth: depth)
            skipSpaces()
            if ends(with: UInt8(ascii: "}")) { break }
            guard current == UInt8(ascii: ",") else { throw expected("a comma or the end of the object") }
            offset &+= 1
            skipSpaces()
        }
        guard checksNames else { return }
        if names.count - outer > NameStack.fewNames, let twice = names.duplicate(after: outer, in: text) {
            throw JSONError("another name was expected: its object has a member of this one already", at: twice)
        }
        names.removeLast(names.count - outer)
    }

    private func hasEscape(from start: Int) -> Bool {
        for at in start ..< offset where text.byte(at: at) == UInt8(ascii: "\\") { return true }
        return false
    }

    private mutating func layElements(
        on nodes: inout Slots<JSONNode>, _ hints: inout Slots<Int32>, _ checksNames: Bool, depth: Int
    ) throws(JSONError) -> Int32 {
        guard depth <= depthMax else { throw expected("a text of at most \(depthMax) open containers") }
        offset &+= 1
        skipSpaces()
        var count: Int32 = 0
        if ends(with: UInt8(ascii: "]")) { return count }
        while true {
            try lay(on: &nodes, &hints, checksNames, depth: depth)
            count &+= 1
            skipSpaces()
            if ends(with: UInt8(ascii: "]")) { return count }
            guard current == UInt8(ascii: ",") else { throw expected("a comma or the end of the array") }
            offset &+= 1
            skipSpaces()
        }
    }

    private mutating func ends(with byte: UInt8) -> Bool {
        guard current == byte else { return false }
        offset &+= 1
        return true
    }
}
