internal import Bytes

extension Splice {
    /// Finds the children of an object or array, once. Malformed text leaves it unopened, childless and `fault` set.
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

/// Opens the container `parent`: records its children in order; the offset behind its closing bracket.
func scanChildren(
    in arena: borrowing ByteBuffer, of parent: Int, into records: inout Slots<Splice.Record>
) throws(JSONError) -> Int {
    let text = arena.bytes
    let isObject = records[parent].kind == .object
    let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    var offset = Int(records[parent].start) &+ 1
    var byte = skipSpaces(text, &offset)
    records[parent].isOpened = true
    records[parent].start = -1
    records[parent].count = -1
    if byte == closing { return offset &+ 1 }
    let first = Int32(truncatingIfNeeded: records.count)
    var index = first
    while true {
        var child = Splice.Record(start: 0, count: 0, parent: Int32(truncatingIfNeeded: parent), kind: .null)
        if isObject {
            guard byte == UInt8(ascii: "\"") else { throw JSONError("a member's name was expected", at: offset) }
            let name = try skipName(text, at: offset)
            child.key = name.hasEscapes ? keyOfEscapedName(text.slice(offset &+ 1, name.end &- offset &- 2)) : name.key
            child.nameStart = Int32(truncatingIfNeeded: offset)
            child.nameCount = Int32(truncatingIfNeeded: name.end &- offset)
            child.nameHasEscapes = name.hasEscapes
            offset = name.end
            byte = try skipColon(text, &offset)
            child.isCompact = offset == name.end &+ 1
        }
        let value = try skipValue(text, byte, at: offset)
        child.kind = value.kind
        child.start = Int32(truncatingIfNeeded: offset)
        child.count = Int32(truncatingIfNeeded: value.end &- offset)
        offset = value.end
        byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: ",") {
            index &+= 1
            child.next = index
            records.append(child)
            offset &+= 1
            byte = skipSpaces(text, &offset)
        } else {
            guard byte == closing else { throw JSONError("a comma or the end of a container was expected", at: offset) }
            records.append(child)
            records[parent].start = first
            records[parent].count = index
            return offset &+ 1
        }
    }
}

@inline(never)
private func keyOfEscapedName(_ literal: RawSpan) -> UInt32 {
    var plain = ByteBuffer(capacity: literal.byteCount + 16)
    appendUnescaped(literal, into: &plain)
    return nameKey(firstWord(of: plain.bytes))
}

/// The first word that a name without escapes has in a text, closed by its quote if it is shorter than that.
func firstWord(of name: RawSpan) -> UInt64 {
    var word: UInt64 = 0
    for index in 0 ..< min(name.byteCount, 8) { word |= UInt64(name.byte(at: index)) << UInt64(8 * index) }
    return name.byteCount < 8 ? word | 0x22 << UInt64(8 * name.byteCount) : word
}
