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
        output.append(hexDigit(byte & 15))
    }
}

/// Appends the UTF-8 that the content of a valid string literal denotes. Copies an invalid escape unchanged.
package func appendUnescaped(_ literal: RawSpan, into output: inout ByteBuffer) {
    if isPlain(literal) { return output.append(literal) }
    var clean = 0
    var offset = 0
    while offset < literal.byteCount {
        if offset + 8 <= literal.byteCount, specialBytes(literal.load(UInt64.self, at: offset)) == 0 {
            offset += 8
            continue
        }
        guard literal.byte(at: offset) == UInt8(ascii: "\\"), let escape = Escape(literal, at: offset) else {
            offset += 1
            continue
        }
        output.append(literal.slice(clean, offset - clean))
        for byte in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter { output.append(byte) }
        offset += escape.count
        clean = offset
    }
    output.append(literal.slice(clean, offset - clean))
}

/// One escape of a string: the scalar that it denotes and its length in bytes.
struct Escape {
    let scalar: Unicode.Scalar
    let count: Int

    /// Parses the escape at a backslash; nil if it is malformed, truncated, or a lone surrogate.
    init?(_ text: RawSpan, at offset: Int) {
        guard offset + 1 < text.byteCount else { return nil }
        let letter = text.byte(at: offset + 1)
        if letter != UInt8(ascii: "u") {
            guard let plain = Escape.plain(letter) else { return nil }
            scalar = Unicode.Scalar(plain)
            count = 2
            return
        }
        guard let unit = Escape.unit(text, at: offset) else { return nil }
        if let single = Unicode.Scalar(unit) {
            scalar = single
            count = 6
            return
        }
        guard unit < 0xDC00, let low = Escape.unit(text, at: offset + 6), 0xDC00 ... 0xDFFF ~= low else { return nil }
        guard let pair = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(low) - 0xDC00) else { return nil }
        scalar = pair
        count = 12
    }

    private static func plain(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The UTF-16 code unit of the `\uXXXX` at `offset`.
    private static func unit(_ text: RawSpan, at offset: Int) -> UInt16? {
        guard offset + 6 <= text.byteCount, text.byte(at: offset) == UInt8(ascii: "\\"),
            text.byte(at: offset + 1) == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for index in 2 ..< 6 {
            guard let digit = hexValue(text.byte(at: offset + index)) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
