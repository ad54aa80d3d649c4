package import Bytes

// Functions on the text of one value that was validated before.

/// The text that a string literal denotes; nil for other values.
package func decodedString(_ literal: RawSpan) -> String? {
    do {
        guard case .string(let text) = try JSONValue(parsing: literal) else { return nil }
        return text
    } catch { return nil }
}

/// Whether a value is a string without escapes, so that its content is the text between its quotes.
package func isPlainString(_ value: RawSpan) -> Bool {
    value.peek(at: 0) == UInt8(ascii: "\"") && !hasBackslash(value)
}

/// Whether a text contains a backslash, as strings with escapes do.
package func hasBackslash(_ text: RawSpan) -> Bool {
    var offset = 0
    while offset < text.byteCount {
        if (text.sixteenOrZeros(at: offset) .== SIMD16<UInt8>(repeating: UInt8(ascii: "\\"))).firstTrue < 16 { return true }
        offset &+= 16
    }
    return false
}

/// Finds the elements of an array. Returns false if the text is no array.
package func findElements(of text: RawSpan, into found: inout [ByteSlice]) -> Bool {
    found.removeAll(keepingCapacity: true)
    var walk = JSONWalker(text)
    walk.skipSpaces()
    guard walk.enterArray() else { return false }
    while walk.nextElement() {
        let value = walk.skipValue()
        found.append(ByteSlice(value.start, value.count))
    }
    return !walk.isMalformed
}

/// Appends a value without the spaces between its tokens.
package func appendCompact(_ text: RawSpan, into output: inout ByteBuffer) {
    guard let kind = JSONKind(firstByte: text.peek(at: 0)), kind.isContainer else { return output.append(text) }
    var walk = JSONWalker(text)
    var kept = 0
    while walk.offset < text.byteCount {
        walk.offset &+= unspacedCount(text.sixteenOrZeros(at: walk.offset))
        let byte = walk.byte
        if byte == UInt8(ascii: "\"") {
            walk.skipString()
        } else if byte > 0x20 {
            continue
        } else if walk.offset < text.byteCount {
            output.append(text.slice(kept, walk.offset &- kept))
            walk.offset &+= 1
            kept = walk.offset
        }
    }
    output.append(text.slice(kept, text.byteCount &- kept))
}

/// What a value contributes to a text that is composed of values.
package enum TextConversion {
    case text
    /// Null contributes nothing; what that means is up to the caller.
    case none
    /// An object or array has no text.
    case container
}

/// Appends the text of a value as templates, keys and stream names use it: the characters of a string, the canonical form of a number,
/// `true` or `false`.
package func appendText(of value: RawSpan, into output: inout ByteBuffer) -> TextConversion {
    switch JSONKind(firstByte: value.peek(at: 0)) {
    case .string: appendUnescaped(value.slice(1, value.byteCount - 2), into: &output)
    case .number: appendCanonical(number: value, into: &output)
    case .true, .false: output.append(value)
    case .null, nil: return .none
    case .object, .array: return .container
    }
    return .text
}

/// Appends a number in its canonical form (`Canonical`).
package func appendCanonical(number text: RawSpan, into output: inout ByteBuffer) {
    if isPlainInteger(text) { return output.append(text) }
    guard let number = NumberText(text) else { return output.append(text) }
    number.appendCanonical(to: &output)
}

/// Whether a number's text is already canonical: short, and without sign, point and exponent.
private func isPlainInteger(_ text: RawSpan) -> Bool {
    guard text.byteCount <= 15 else { return false }
    for offset in 0 ..< text.byteCount where !isDigit(text.byte(at: offset)) { return false }
    return true
}

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
