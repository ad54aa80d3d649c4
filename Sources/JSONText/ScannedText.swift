package import Bytes

/// The zero bytes behind a text in an arena. They belong to no token, so every walk ends there, and sixteen bytes can be loaded at once
/// from wherever a value may begin or continue.
package var textEnd: UInt128 { 0 }
package var textEndBytes: Int { 16 }

/// Copies a text into an arena, followed by `textEnd`.
///
/// - Returns: the offset of the text's first value; nil if the text is longer than a document may be.
package func takeText(_ text: RawSpan, into arena: inout ByteBuffer) -> Int? {
    arena.removeAll()
    guard text.byteCount < JSONEditor.arenaMax else { return nil }
    arena.append(text)
    arena.append(littleEndian: textEnd)
    var walk = JSONWalker(arena.bytes)
    walk.skipSpaces()
    return walk.offset
}

/// Whether only spaces remain between an offset and the end of the text that `takeText` copied.
package func isEnd(of arena: borrowing ByteBuffer, at offset: Int) -> Bool {
    var walk = JSONWalker(arena.bytes, at: offset)
    walk.skipSpaces()
    return walk.offset == arena.count &- textEndBytes
}

/// The first element of the array that begins at `start`, and the number of elements; nil if the array is malformed.
package func scanElements(_ text: RawSpan, at start: Int) -> (first: ValueSlot, count: Int)? {
    var walk = JSONWalker(text, at: start)
    guard walk.enterArray() else { return nil }
    var first = ValueSlot(kind: .null)
    var count = 0
    while walk.nextElement() {
        let value = walk.skipValue()
        if count == 0 { first = ValueSlot(value) }
        count &+= 1
    }
    return walk.isMalformed ? nil : (first, count)
}
