package import Bytes

// Finding values in a text that was validated before, without knowing what it holds.

/// Takes a text into an arena, where `textEnd` follows it.
///
/// - Returns: where its first value begins, or nil if the text is longer than any document may be.
package func takeText(_ text: RawSpan, into arena: inout ByteBuffer) -> Int? {
    arena.removeAll()
    guard text.byteCount < Splice.arenaMax else { return nil }
    arena.append(text)
    arena.append(littleEndian: textEnd)
    return skipSpaces(arena.bytes, at: 0)
}

/// Whether nothing but spaces stands between an offset and the end of the text that `takeText` took.
package func isEnd(of arena: borrowing ByteBuffer, at offset: Int) -> Bool {
    skipSpaces(arena.bytes, at: offset) == arena.count &- textEndBytes
}

/// The first element of the array that begins at `start`, and how many there are; nil where it is malformed.
package func scanElements(_ arena: borrowing ByteBuffer, at start: Int) -> (first: ValueSlot, count: Int)? {
    let text = arena.bytes
    var first = ValueSlot(kind: .null)
    var offset = start &+ 1
    var byte = skipSpaces(text, &offset)
    if byte == UInt8(ascii: "]") { return (first, 0) }
    var count = 0
    while true {
        let begin = offset
        do throws(JSONError) {
            let value = try skipValue(text, byte, at: offset)
            offset = value.end
            if count == 0 {
                (first.kind, first.hasEscapes) = (value.kind, value.hasEscapes)
            }
        } catch { return nil }
        if count == 0 { (first.start, first.end) = (Int32(truncatingIfNeeded: begin), Int32(truncatingIfNeeded: offset)) }
        count &+= 1
        byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: "]") { return (first, count) }
        guard byte == UInt8(ascii: ",") else { return nil }
        offset &+= 1
        byte = skipSpaces(text, &offset)
    }
}

/// The value that begins at `start`; nil where none does.
package func scanValue(_ arena: borrowing ByteBuffer, at start: Int) -> ValueSlot? {
    let text = arena.bytes
    do throws(JSONError) {
        let value = try skipValue(text, text.byte(at: start), at: start)
        var slot = ValueSlot(kind: value.kind, from: start, to: value.end)
        slot.hasEscapes = value.hasEscapes
        return slot
    } catch { return nil }
}

/// The offset behind the null that begins at `start`; nil where none does.
@inline(__always)
package func scanNull(_ arena: borrowing ByteBuffer, at start: Int) -> Int? {
    arena.bytes.load(UInt32.self, at: start) == Literal.null ? start &+ 4 : nil
}

/// The offset behind the name that begins at `start`, and where its value begins; nil where that is no member.
package func scanName(_ arena: borrowing ByteBuffer, at start: Int) -> (end: Int, value: Int)? {
    let text = arena.bytes
    guard text.byte(at: start) == UInt8(ascii: "\"") else { return nil }
    do throws(JSONError) {
        let end = try skipString(text, at: start).end
        var value = end
        _ = try skipColon(text, &value)
        return (end, value)
    } catch { return nil }
}

/// The first byte from an offset on that is no space, to which that is moved.
@inline(__always)
package func byte(of arena: borrowing ByteBuffer, behindSpacesAt offset: inout Int) -> UInt8 { skipSpaces(arena.bytes, &offset) }
