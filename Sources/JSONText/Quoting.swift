package import Bytes

/// Appends a text as a JSON string literal, with the fewest escapes that RFC 8259 allows, as RFC 8785 requires.
///
/// The bytes must be UTF-8; all except `"`, `\` and control characters are copied unchanged.
package func appendQuoted(_ utf8: RawSpan, into output: inout ByteBuffer) {
    output.append(UInt8(ascii: "\""))
    if isPlain(utf8) { output.append(utf8) } else { appendEscaped(utf8, into: &output) }
    output.append(UInt8(ascii: "\""))
}

/// Appends a `String` as a JSON string literal.
package func appendQuoted(_ text: String, into output: inout ByteBuffer) {
    output.append(UInt8(ascii: "\""))
    let start = output.count
    output.append(text)
    if !isPlain(output.slice(start, output.count - start)) {
        output.truncate(to: start)
        appendEscaped(Array(text.utf8).lent, into: &output)
    }
    output.append(UInt8(ascii: "\""))
}

/// Whether a text needs no escapes. The last word that is loaded overlaps the one before it.
@inline(__always)
package func isPlain(_ utf8: RawSpan) -> Bool {
    let count = utf8.byteCount
    if count >= 8 {
        var offset = 0
        while offset < count &- 8 {
            if specialBytes(utf8.load(UInt64.self, at: offset)) != 0 { return false }
            offset &+= 8
        }
        return specialBytes(utf8.load(UInt64.self, at: count &- 8)) == 0
    }
    if count >= 4 {
        let ends = UInt64(utf8.load(UInt32.self, at: 0)) | UInt64(utf8.load(UInt32.self, at: count &- 4)) << 32
        return specialBytes(ends) == 0
    }
    for offset in 0 ..< count {
        let byte = utf8.byte(at: offset)
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
    }
    return true
}

/// Appends the content of the literal that `appendQuoted` writes, without the quotes.
package func appendEscaped(_ utf8: RawSpan, into output: inout ByteBuffer) {
    // The bytes from `clean` on need no escapes and are not copied yet.
    var clean = 0
    var offset = 0
    while offset < utf8.byteCount {
        if offset + 8 <= utf8.byteCount, specialBytes(utf8.load(UInt64.self, at: offset)) == 0 {
            offset += 8
            continue
        }
        let byte = utf8.byte(at: offset)
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            output.append(utf8.slice(clean, offset - clean))
            appendEscape(of: byte, into: &output)
            clean = offset + 1
        }
        offset += 1
    }
    output.append(utf8.slice(clean, offset - clean))
}

private func appendEscape(of byte: UInt8, into output: inout ByteBuffer) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    case 0x22, 0x5C: output.append(byte)
    default:
        output.append([UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
        output.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        output.append(lowercaseHexDigit(byte & 15))
    }
}

private func lowercaseHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
