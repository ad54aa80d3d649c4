internal import Bytes

/// Steps through JSON text whose structure was validated before. Nothing is read outside the
/// text: past its end stands the byte 0, which ends every value.
extension RawSpan {
    @inline(__always)
    func peek(_ offset: Int) -> UInt8 { offset < byteCount ? byte(at: offset) : 0 }

    /// The first offset from here that holds no space.
    @inline(__always)
    func afterSpace(_ offset: Int) -> Int {
        var offset = offset
        while offset < byteCount {
            switch byte(at: offset) {
            case 0x20, 0x0a, 0x0d, 0x09: offset += 1
            default: return offset
            }
        }
        return byteCount
    }

    /// `count` bytes further, and not past the end.
    @inline(__always)
    func after(_ offset: Int, _ count: Int) -> Int { Swift.min(offset + count, byteCount) }

    /// What stands between the quotes of the string from `start` up to `end`.
    @inline(__always)
    func unquoted(_ start: Int, _ end: Int) -> Range<Int> { after(start, 1) ..< Swift.max(after(start, 1), end - 1) }

    /// After spaces, a comma if there is one, and more spaces.
    @inline(__always)
    func afterComma(_ offset: Int) -> Int {
        let offset = afterSpace(offset)
        return peek(offset) == UInt8(ascii: ",") ? afterSpace(offset + 1) : offset
    }

    /// After the string whose opening quote stands here.
    @inline(__always)
    func afterString(_ offset: Int) -> Int {
        var offset = offset + 1
        while offset < byteCount {
            // Eight bytes without a quote and a backslash are passed at once.
            if offset + 8 <= byteCount {
                let word = load(UInt64.self, at: offset)
                let found = Self.zeros(word ^ 0x2222_2222_2222_2222) | Self.zeros(word ^ 0x5c5c_5c5c_5c5c_5c5c)
                offset += found == 0 ? 8 : found.trailingZeroBitCount / 8
                if found == 0 { continue }
            }
            switch byte(at: offset) {
            case UInt8(ascii: "\""): return offset + 1
            case UInt8(ascii: "\\"): offset += 2
            default: offset += 1
            }
        }
        return byteCount
    }

    /// The high bit of each byte that is zero; those above the lowest one may be wrong.
    @inline(__always)
    private static func zeros(_ word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }

    /// After the value that begins here.
    func afterValue(_ offset: Int) -> Int {
        switch peek(offset) {
        case UInt8(ascii: "\""): return afterString(offset)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return afterContainer(offset)
        default: return afterWord(offset)
        }
    }

    /// After a number, `true`, `false` or `null`.
    @inline(__always)
    func afterWord(_ offset: Int) -> Int {
        var offset = offset
        while true {
            switch peek(offset) {
            case UInt8(ascii: "0") ... UInt8(ascii: "9"), UInt8(ascii: "a") ... UInt8(ascii: "z"), UInt8(ascii: "E"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                offset += 1
            default: return offset
            }
        }
    }

    private func afterContainer(_ offset: Int) -> Int {
        var (offset, depth) = (offset, 0)
        while offset < byteCount {
            switch byte(at: offset) {
            case UInt8(ascii: "\""):
                offset = afterString(offset)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return offset + 1 }
            default: break
            }
            offset += 1
        }
        return byteCount
    }

    /// Whether the bytes from `start` up to `end` hold a backslash.
    func holdsEscape(_ start: Int, _ end: Int) -> Bool {
        for offset in start ..< end where byte(at: offset) == UInt8(ascii: "\\") { return true }
        return false
    }
}
