package import Bytes

// What stands in the text of one value, which was validated before.

/// The text that a string's literal means; nil for another value.
package func decodedString(_ literal: RawSpan) -> String? {
    do {
        guard case .string(let text) = try JSONValue(parsing: literal) else { return nil }
        return text
    } catch { return nil }
}

/// Whether a value is a string without escapes, whose content is what stands between its quotes.
package func isPlainString(_ value: RawSpan) -> Bool {
    value.peek(at: 0) == UInt8(ascii: "\"") && !hasBackslash(value)
}

/// Whether a text has a backslash, as strings with escapes do.
package func hasBackslash(_ text: RawSpan) -> Bool {
    var offset = 0
    while offset < text.byteCount {
        if (text.sixteenOrZeros(at: offset) .== SIMD16<UInt8>(repeating: UInt8(ascii: "\\"))).firstTrue < 16 { return true }
        offset &+= 16
    }
    return false
}

/// The elements of an array; false where the text is none.
package func findElements(of text: RawSpan, into found: inout [ByteSlice]) -> Bool {
    found.removeAll(keepingCapacity: true)
    var walk = JSONWalker(text)
    walk.skipSpaces()
    guard walk.enterArray() else { return false }
    while walk.nextElement() {
        let value = walk.skipValue()
        found.append(ByteSlice(value.start, value.count))
    }
    return !walk.isLost
}

/// Appends a value without the space between its tokens.
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
