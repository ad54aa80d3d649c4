internal import Bytes

/// Steps over JSON text that was validated before, and finds where its values are without knowing what it holds.
///
/// Grammar is checked as far as the ends of values need it: brackets, the ends of strings, the letters of literals; not the
/// inside of numbers, escapes or UTF-8. Nothing outside the text is read: zeros, which belong to no token, seem to follow it.
/// Where a token is malformed the walker goes behind the text's end for good (`isLost`): whoever looks for a comma or a
/// closing bracket there finds a zero and stops.
package struct JSONWalker: ~Escapable {
    package let text: RawSpan
    package var offset: Int

    @inline(__always)
    @_lifetime(copy text)
    package init(_ text: RawSpan, at offset: Int = 0) {
        self.text = text
        self.offset = offset
    }

    /// The byte that follows; 0 at the end of the text.
    @inline(__always)
    package var byte: UInt8 { text.peek(at: offset) }

    /// The offset, within the text.
    package var end: Int { min(offset, text.byteCount) }

    /// Whether a token was malformed.
    @inline(__always)
    package var isLost: Bool { offset > text.byteCount }

    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func lose() { offset = text.byteCount &+ 1 }

    /// Goes to the first byte that is no space; that byte.
    @inline(__always)
    @discardableResult
    @_lifetime(self: copy self)
    package mutating func skipSpaces() -> UInt8 {
        let byte = byte
        if byte > 0x20 { return byte }
        offset = Self.endOfSpaces(text, offset)
        return self.byte
    }

    /// Goes behind the string that begins here; whether it has escapes.
    @inline(__always)
    @discardableResult
    @_lifetime(self: copy self)
    package mutating func skipString() -> Bool {
        // Most strings end within the first sixteen bytes.
        let start = offset &+ 1
        let end = start &+ plainCount(text.sixteenOrZeros(at: start))
        if text.peek(at: end) == UInt8(ascii: "\"") {
            offset = end &+ 1
            return false
        }
        let found = Self.endOfLongString(text, end)
        offset = found.end
        return found.hasEscapes
    }

    /// Goes behind the value that begins here, at its first byte.
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func skipValue() -> JSONExtent {
        let start = offset
        let byte = byte
        if byte == UInt8(ascii: "\"") {
            let hasEscapes = skipString()
            return JSONExtent(start: start, end: offset, kind: .string, hasEscapes: hasEscapes)
        }
        if isDigit(byte) || byte == UInt8(ascii: "-") {
            // Most numbers are a few digits.
            let end = start &+ 1 &+ digitCount(text.sixteenOrZeros(at: start &+ 1))
            offset = isInNumber(text.peek(at: end)) ? Self.endOfLongNumber(text, end) : end
            return JSONExtent(start: start, end: offset, kind: .number, hasEscapes: false)
        }
        let other = Self.endOfOther(text, start)
        offset = other.end
        return JSONExtent(start: start, end: offset, kind: other.kind, hasEscapes: false)
    }

    /// Goes from a member's name to the value behind its colon; the value's first byte.
    @inline(__always)
    @discardableResult
    @_lifetime(self: copy self)
    package mutating func skipColon() -> UInt8 {
        guard skipSpaces() == UInt8(ascii: ":") else {
            lose()
            return 0
        }
        offset &+= 1
        return skipSpaces()
    }
}

/// Where a value stands in a text.
package struct JSONExtent: BitwiseCopyable, Sendable {
    package let start, end: Int
    package let kind: JSONKind
    /// Of a string.
    package let hasEscapes: Bool

    @inline(__always)
    package init(start: Int, end: Int, kind: JSONKind, hasEscapes: Bool) {
        (self.start, self.end, self.kind, self.hasEscapes) = (start, end, kind, hasEscapes)
    }

    package var count: Int { end &- start }
}

// What is met more seldom, out of line.
extension JSONWalker {
    @inline(never)
    private static func endOfSpaces(_ text: RawSpan, _ start: Int) -> Int {
        var offset = start
        while isSpace(text.peek(at: offset)) { offset &+= 1 }
        return offset
    }

    /// From an offset within the string.
    @inline(never)
    private static func endOfLongString(_ text: RawSpan, _ start: Int) -> (end: Int, hasEscapes: Bool) {
        var offset = start
        var hasEscapes = false
        while true {
            let plain = plainCount(text.sixteenOrZeros(at: offset))
            offset &+= plain
            if plain == 16 { continue }
            let byte = text.peek(at: offset)
            if byte == UInt8(ascii: "\"") { return (offset &+ 1, hasEscapes) }
            guard byte == UInt8(ascii: "\\") else { return (text.byteCount &+ 1, hasEscapes) }
            hasEscapes = true
            offset &+= 2
        }
    }

    @inline(never)
    private static func endOfLongNumber(_ text: RawSpan, _ start: Int) -> Int {
        var offset = start
        while isInNumber(text.peek(at: offset)) { offset &+= 1 &+ digitCount(text.sixteenOrZeros(at: offset &+ 1)) }
        return offset
    }

    /// A container or literal.
    @inline(never)
    private static func endOfOther(_ text: RawSpan, _ start: Int) -> (end: Int, kind: JSONKind) {
        let word = text.loadOrZeros(UInt32.self, at: start)
        switch UInt8(truncatingIfNeeded: word) {
        case UInt8(ascii: "{"): return (endOfContainer(text, start), .object)
        case UInt8(ascii: "["): return (endOfContainer(text, start), .array)
        default:
            if word == Literal.true { return (start &+ 4, .true) }
            if word == Literal.null { return (start &+ 4, .null) }
            if word == Literal.fals, text.peek(at: start &+ 4) == UInt8(ascii: "e") { return (start &+ 5, .false) }
            return (text.byteCount &+ 1, .null)
        }
    }

    /// The offset behind the container that is open `depth` times at `start`, outside its strings: only strings and brackets are
    /// looked at, so that what stands between them costs little.
    package static func endOfContainer(_ text: RawSpan, _ start: Int, depth: Int = 0) -> Int {
        var (offset, depth) = (start, depth)
        while offset < text.byteCount {
            let skipped = unbracketedCount(text.sixteenOrZeros(at: offset))
            offset &+= skipped
            if skipped == 16 { continue }
            switch text.peek(at: offset) {
            case UInt8(ascii: "\""):
                var string = JSONWalker(text, at: offset)
                string.skipString()
                offset = string.offset
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth &+= 1
            default:
                depth &-= 1
                if depth <= 0 { return offset &+ 1 }
            }
            offset &+= 1
        }
        return text.byteCount &+ 1
    }
}

@inline(__always)
func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

@inline(__always)
func isInNumber(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
}

/// Two bytes that mostly follow each other, as little-endian words.
enum Mark {
    static var colonAndQuote: UInt16 { 0x223A }
    static var commaAndQuote: UInt16 { 0x222C }
}

/// The letters of the literals as little-endian words.
enum Literal {
    static var `true`: UInt32 { 0x6575_7274 }
    static var null: UInt32 { 0x6C6C_756E }
    static var fals: UInt32 { 0x736C_6166 }
}
