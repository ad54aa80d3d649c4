internal import Bytes

/// Steps over JSON text that was validated before. What is malformed nevertheless ends in nil: nothing
/// outside the text is read.
enum JSONCursor {
    @inline(__always)
    static func skipSpace(_ text: RawSpan, _ start: Int) -> Int {
        var offset = start
        while offset < text.byteCount {
            let byte = text.byte(at: offset)
            if byte > 0x20 { break }
            offset += 1
        }
        return offset
    }

    /// The offset after the string that begins at `start`, and whether it has an escape.
    @inline(__always)
    static func endOfString(_ text: RawSpan, _ start: Int) -> (end: Int, isPlain: Bool)? {
        var offset = start + 1
        var isPlain = true
        while true {
            while offset + 8 <= text.byteCount {
                let word = text.load(UInt64.self, at: offset)
                let found = Self.equal(word, 0x22) | Self.equal(word, 0x5c)
                if found != 0 {
                    offset += found.trailingZeroBitCount >> 3
                    break
                }
                offset += 8
            }
            guard offset < text.byteCount else { return nil }
            switch text.byte(at: offset) {
            case 0x22: return (offset + 1, isPlain)
            case 0x5c:
                isPlain = false
                offset += 2
            default: offset += 1
            }
        }
    }

    /// The offset after the value that begins at `start`.
    static func endOfValue(_ text: RawSpan, _ start: Int) -> Int? {
        guard start < text.byteCount else { return nil }
        switch text.byte(at: start) {
        case 0x22: return endOfString(text, start)?.end
        case 0x7b, 0x5b: return endOfContainer(text, start)
        default:
            var offset = start
            while offset < text.byteCount {
                let byte = text.byte(at: offset)
                if byte == 0x2c || byte == 0x7d || byte == 0x5d || byte <= 0x20 { break }
                offset += 1
            }
            return offset == start ? nil : offset
        }
    }

    /// The offset after the container that is open `depth` times at `start`, which lies outside its strings.
    static func endOfContainer(_ text: RawSpan, _ start: Int, depth: Int = 0) -> Int? {
        var (offset, depth) = (start, depth)
        while offset < text.byteCount {
            while offset + 8 <= text.byteCount {
                let word = text.load(UInt64.self, at: offset)
                // Brackets and braces differ in one bit, which is set here.
                let folded = word | 0x2020_2020_2020_2020
                let found = Self.equal(word, 0x22) | Self.equal(folded, 0x7b) | Self.equal(folded, 0x7d)
                if found != 0 {
                    offset += found.trailingZeroBitCount >> 3
                    break
                }
                offset += 8
            }
            guard offset < text.byteCount else { return nil }
            switch text.byte(at: offset) {
            case 0x22:
                guard let string = endOfString(text, offset) else { return nil }
                offset = string.end
                continue
            case 0x7b, 0x5b: depth += 1
            case 0x7d, 0x5d:
                depth -= 1
                if depth == 0 { return offset + 1 }
            default: break
            }
            offset += 1
        }
        return nil
    }

    /// The elements of an array; false where the text is none.
    static func elements(_ text: RawSpan, into found: inout [ByteSlice]) -> Bool {
        found.removeAll(keepingCapacity: true)
        var offset = skipSpace(text, 0)
        guard offset < text.byteCount, text.byte(at: offset) == 0x5b else { return false }
        offset = skipSpace(text, offset + 1)
        if offset < text.byteCount, text.byte(at: offset) == 0x5d { return true }
        while true {
            guard let end = endOfValue(text, offset) else { return false }
            found.append(ByteSlice(offset, end - offset))
            offset = skipSpace(text, end)
            guard offset < text.byteCount else { return false }
            if text.byte(at: offset) == 0x5d { return true }
            guard text.byte(at: offset) == 0x2c else { return false }
            offset = skipSpace(text, offset + 1)
        }
    }

    /// Appends a value without the space between its tokens.
    static func appendCompact(_ text: RawSpan, into output: inout ByteBuffer) {
        guard text.byteCount > 0, text.byte(at: 0) == 0x7b || text.byte(at: 0) == 0x5b else { return output.append(text) }
        var (offset, kept) = (0, 0)
        while offset < text.byteCount {
            let byte = text.byte(at: offset)
            if byte == 0x22, let string = endOfString(text, offset) {
                offset = string.end
                continue
            }
            if byte <= 0x20 {
                output.append(text.slice(kept, offset - kept))
                kept = offset + 1
            }
            offset += 1
        }
        output.append(text.slice(kept, offset - kept))
    }

    /// The high bit of each byte of a word that equals `byte`; the lowest set bit is exact.
    @inline(__always)
    private static func equal(_ word: UInt64, _ byte: UInt64) -> UInt64 {
        let difference = word ^ (byte &* 0x0101_0101_0101_0101)
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }
}
