package import Bytes

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
            let digit: UInt8
            switch text.byte(at: offset + index) {
            case let byte where UInt8(ascii: "0") ... UInt8(ascii: "9") ~= byte: digit = byte - UInt8(ascii: "0")
            case let byte where UInt8(ascii: "a") ... UInt8(ascii: "f") ~= byte: digit = byte - UInt8(ascii: "a") + 10
            case let byte where UInt8(ascii: "A") ... UInt8(ascii: "F") ~= byte: digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
