internal import Bytes

/// One value, or one member's name, of a text.
struct JSONNode: BitwiseCopyable, Sendable {
    var kind: JSONKind
    var hasEscapes = false
    /// For a string, the content between the quotes.
    var start: Int32
    var end: Int32 = 0
    /// The index of the node behind this one and everything that it contains.
    var next: Int32 = 0
    /// For an array, the number of its elements; for an object, its index among the objects.
    var extra: Int32 = 0
}

/// A text and the locations of its values, in the order of the text; an object's members are a name and a value each.
///
/// Used by one thread.
final class JSONTape {
    let bytes: [UInt8]
    let leaves: [JSONLeaf]
    let nodes: UniqueArray<JSONNode>
    /// For each object, the name that was looked up last, where the next search begins.
    private var hints: UniqueArray<Int32>
    /// A null behind the text, which stands for absent values.
    let absent: Int

    init(_ bytes: [UInt8], _ limits: JSONLimits, comparesNames: Bool, _ leaves: [JSONLeaf]) throws(JSONError) {
        guard bytes.count <= min(limits.bytes, Int(Int32.max)) else {
            throw JSONError("a text of at most \(limits.bytes) bytes was expected", at: limits.bytes)
        }
        (self.bytes, self.leaves) = (bytes, leaves)
        var validator = JSONValidator(bytes.lent, limits, TapeRecord(of: bytes.count), comparesNames: comparesNames)
        _ = try validator.validate()
        var nodes = validator.record.nodes
        absent = nodes.count
        nodes.append(JSONNode(kind: .null, start: 0, next: Int32(nodes.count + 1)))
        self.nodes = nodes
        hints = validator.record.hints
    }

    /// The node of a member's value; nil if the object lacks the member.
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

    /// The text that a string or name denotes, or the text of a number.
    func text(of node: JSONNode) -> String? {
        let bytes = bytes
        let literal = bytes.lent.slice(Int(node.start), Int(node.end - node.start))
        guard node.hasEscapes else { return String(utf8: literal) }
        var buffer = ByteBuffer(capacity: literal.byteCount)
        appendUnescaped(literal, into: &buffer)
        return String(utf8: buffer.bytes)
    }

    /// The coding path to a node: member names and element indexes.
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

/// Collects the nodes of a text while it is validated, with a hint for each object.
private struct TapeRecord: ValueRecorder, ~Copyable {
    var nodes: UniqueArray<JSONNode>
    var hints = UniqueArray<Int32>(capacity: 4)

    init(of bytes: Int) { nodes = UniqueArray(capacity: bytes / 8 + 4) }

    mutating func begin(_ kind: JSONKind, at offset: Int) -> Int {
        var node = JSONNode(kind: kind, start: Int32(truncatingIfNeeded: kind == .string ? offset &+ 1 : offset))
        if kind == .object {
            node.extra = Int32(truncatingIfNeeded: hints.count)
            hints.append(0)
        }
        nodes.append(node)
        return nodes.count &- 1
    }

    mutating func end(_ value: Int, at offset: Int, hasEscapes: Bool, elements: Int) {
        let kind = nodes[value].kind
        nodes[value].hasEscapes = hasEscapes
        nodes[value].end = Int32(truncatingIfNeeded: kind == .string ? offset &- 1 : offset)
        if kind == .array { nodes[value].extra = Int32(truncatingIfNeeded: elements) }
        nodes[value].next = Int32(truncatingIfNeeded: nodes.count)
    }

    mutating func name(_ start: Int, _ end: Int, hasEscapes: Bool) {
        var name = JSONNode(kind: .string, hasEscapes: hasEscapes, start: Int32(truncatingIfNeeded: start))
        name.end = Int32(truncatingIfNeeded: end)
        name.next = Int32(truncatingIfNeeded: nodes.count &+ 1)
        nodes.append(name)
    }
}
