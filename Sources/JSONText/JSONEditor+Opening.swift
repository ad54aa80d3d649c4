internal import Bytes

extension JSONEditor {
    /// Finds the children of an object or array, once. A container whose text is malformed stays unopened and without children, and `fault`
    /// is set.
    @inline(__always)
    mutating func open(_ node: Node) {
        let index = Int(node.index)
        if !records[index].isOpened, records[index].kind.isContainer { openText(of: node) }
    }

    @inline(never)
    private mutating func openText(of node: Node) {
        let unopened = record(node)
        let known = records.count
        do throws(JSONError) {
            let found = try scanChildren(in: arena, of: Int(node.index), into: &records)
            guard found == Int(unopened.start + unopened.count) else { throw JSONError("the end of a value was expected", at: found) }
        } catch {
            records.removeLast(records.count - known)
            records[Int(node.index)] = unopened
            if fault == nil { fault = error }
        }
    }
}

/// Opens the container `parent`: records its children in order and returns the offset behind its closing bracket.
func scanChildren(
    in arena: borrowing ByteBuffer, of parent: Int, into records: inout UniqueArray<JSONEditor.Record>
) throws(JSONError) -> Int {
    let text = arena.bytes
    let isObject = records[parent].kind == .object
    let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    var walk = JSONWalker(text, at: Int(records[parent].start) &+ 1)
    var byte = walk.skipSpaces()
    records[parent].isOpened = true
    records[parent].start = -1
    records[parent].count = -1
    if byte == closing { return walk.offset &+ 1 }
    let first = Int32(truncatingIfNeeded: records.count)
    var index = first
    while true {
        var child = JSONEditor.Record(start: 0, count: 0, parent: Int32(truncatingIfNeeded: parent), kind: .null)
        if isObject {
            guard byte == UInt8(ascii: "\"") else { throw JSONError("a member's name was expected", at: walk.offset) }
            let name = walk.skipKeyedName()
            guard !walk.isMalformed else { throw JSONError("a member's name was expected", at: name.start) }
            child.key = name.hasEscapes ? keyOfEscapedName(text.slice(name.start &+ 1, name.end &- name.start &- 2)) : name.key
            child.nameStart = Int32(truncatingIfNeeded: name.start)
            child.nameCount = Int32(truncatingIfNeeded: name.end &- name.start)
            child.nameHasEscapes = name.hasEscapes
            walk.skipColon()
            child.isCompact = walk.offset == name.end &+ 1
        }
        let value = walk.skipValue()
        guard !walk.isMalformed else { throw JSONError("a value was expected", at: value.start) }
        child.kind = value.kind
        child.start = Int32(truncatingIfNeeded: value.start)
        child.count = Int32(truncatingIfNeeded: value.count)
        byte = walk.skipSpaces()
        if byte == UInt8(ascii: ",") {
            index &+= 1
            child.next = index
            records.append(child)
            walk.offset &+= 1
            byte = walk.skipSpaces()
        } else {
            guard byte == closing else { throw JSONError("a comma or the end of a container was expected", at: walk.offset) }
            records.append(child)
            records[parent].start = first
            records[parent].count = index
            return walk.offset &+ 1
        }
    }
}

extension JSONWalker {
    /// Moves behind the name that begins at the offset. Returns the name's range, and its key if it has no escapes.
    @inline(__always)
    @_lifetime(self: copy self)
    fileprivate mutating func skipKeyedName() -> (start: Int, end: Int, key: UInt32, hasEscapes: Bool) {
        let start = offset
        let word = text.loadOrZeros(UInt64.self, at: start &+ 1)
        let special = specialBytes(word)
        // A short name ends within the word, so that its key can be computed from the word up to the quote.
        if special != 0 {
            let end = start &+ 1 &+ special.trailingZeroBitCount >> 3
            if text.peek(at: end) == UInt8(ascii: "\"") {
                offset = end &+ 1
                return (start, offset, nameKey(word & (special ^ (special &- 1)) >> 1), false)
            }
        }
        let hasEscapes = skipString()
        return (start, offset, nameKey(word), hasEscapes)
    }
}

@inline(never)
private func keyOfEscapedName(_ literal: RawSpan) -> UInt32 {
    var plain = ByteBuffer(capacity: literal.byteCount + 16)
    appendUnescaped(literal, into: &plain)
    return nameKey(firstWord(of: plain.bytes))
}

/// The first eight bytes of a name, followed by a quote if the name is shorter.
func firstWord(of name: RawSpan) -> UInt64 {
    var word: UInt64 = 0
    for index in 0 ..< min(name.byteCount, 8) { word |= UInt64(name.byte(at: index)) << UInt64(8 * index) }
    return name.byteCount < 8 ? word | 0x22 << UInt64(8 * name.byteCount) : word
}
