/// Text that is written often, without a `String` in between.
extension ByteBuffer {
    /// Appends a UUID of two halves as lower-case text.
    package mutating func append(uuid: (UInt64, UInt64)) {
        let dash = UInt8(ascii: "-")
        let middle = hexDigits(UInt32(truncatingIfNeeded: uuid.0))
        let second = hexDigits(UInt32(truncatingIfNeeded: uuid.1 >> 32))
        append(littleEndian: hexDigits(UInt32(truncatingIfNeeded: uuid.0 >> 32)))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: middle))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: middle >> 32))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: second))
        append(dash)
        append(littleEndian: UInt32(truncatingIfNeeded: second >> 32))
        append(littleEndian: hexDigits(UInt32(truncatingIfNeeded: uuid.1)))
    }

    /// Appends valid JSON text with each line break replaced by a space. Its meaning stays, since strings hold line breaks only escaped.
    package mutating func append(onOneLine text: RawSpan) {
        var start = 0
        while let lineBreak = text.firstLineBreak(from: start) {
            append(text.slice(start, lineBreak - start))
            append(UInt8(ascii: " "))
            start = lineBreak + 1
        }
        append(text.slice(start, text.byteCount - start))
    }
}

/// Eight digits of lower-case hexadecimal text as they lie in memory, the most significant first.
private func hexDigits(_ number: UInt32) -> UInt64 {
    // One nibble into each byte, all eight at once.
    var word = UInt64(number)
    word = (word | word << 16) & 0x0000_ffff_0000_ffff
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f
    let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).byteSwapped
}

extension RawSpan {
    /// The offset of the first line feed from one on; nil where there is none.
    package func firstLineFeed(from start: Int) -> Int? {
        var offset = start
        while offset + 8 <= byteCount {
            let zeros = zeroBytes(load(UInt64.self, at: offset) ^ 0x0a0a_0a0a_0a0a_0a0a)
            if zeros != 0 { return offset + (zeros.trailingZeroBitCount >> 3) }
            offset += 8
        }
        while offset < byteCount {
            if byte(at: offset) == UInt8(ascii: "\n") { return offset }
            offset += 1
        }
        return nil
    }

    /// The offset of the first line feed or carriage return from one on; nil where there is none.
    func firstLineBreak(from start: Int) -> Int? {
        var offset = start
        while offset + 8 <= byteCount {
            let word = load(UInt64.self, at: offset)
            let zeros = zeroBytes(word ^ 0x0a0a_0a0a_0a0a_0a0a) | zeroBytes(word ^ 0x0d0d_0d0d_0d0d_0d0d)
            if zeros != 0 { return offset + (zeros.trailingZeroBitCount >> 3) }
            offset += 8
        }
        while offset < byteCount {
            let byte = byte(at: offset)
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return offset }
            offset += 1
        }
        return nil
    }
}

/// Marks the zero bytes of a word: the lowest set bit lies in the first zero byte; higher bits may be false positives.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 }
