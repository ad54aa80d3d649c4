internal import Bytes

/// Steps over JSON text that was validated before, and finds the extents of its values without interpreting them.
///
/// The walker checks the grammar only as far as it needs to find the ends of values: brackets, the ends of strings and the letters of
/// literals; not the inside of numbers, escapes or UTF-8. It never reads outside the text, which behaves as if followed by zeros; a zero is
/// never part of a token.
/// At a malformed token, the walker moves behind the text's end and stays there (`isMalformed`): code that then looks for a comma or a
/// closing bracket finds a zero and stops.
package struct JSONWalker: ~Escapable {
    package let text: RawSpan
    package var offset: Int

    @inline(__always)
    @_lifetime(copy text)
    package init(_ text: RawSpan, at offset: Int = 0) {
        self.text = text
        self.offset = offset
    }

    /// The byte at the offset; 0 at the end of the text.
    @inline(__always)
    package var byte: UInt8 { text.peek(at: offset) }

    /// The offset, clamped to the text's length.
    package var end: Int { min(offset, text.byteCount) }

    /// Whether the walker met a malformed token.
    @inline(__always)
    package var isMalformed: Bool { offset > text.byteCount }

    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func markMalformed() { offset = text.byteCount &+ 1 }

    /// Moves to the next byte that is not a space and returns that byte.
    @inline(__always)
    @discardableResult
    @_lifetime(self: copy self)
    package mutating func skipSpaces() -> UInt8 {
        let byte = byte
        if byte > 0x20 { return byte }
        offset = Self.endOfSpaces(text, offset)
        return self.byte
    }

    /// Moves behind the string that begins at the offset. Returns whether it has escapes.
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

    /// Moves behind the value whose first byte is at the offset.
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

    /// Moves from behind a member's name to the value behind its colon. Returns the value's first byte.
    @inline(__always)
    @discardableResult
    @_lifetime(self: copy self)
    package mutating func skipColon() -> UInt8 {
        guard skipSpaces() == UInt8(ascii: ":") else {
            markMalformed()
            return 0
        }
        offset &+= 1
        return skipSpaces()
    }
}

/// The range and kind of a value in a text; for a member's name, that of its literal, including the quotes.
package struct JSONExtent: BitwiseCopyable, Sendable {
    package let start, end: Int
    package let kind: JSONKind
    package let hasEscapes: Bool

    package var count: Int { end &- start }
}

// Rare cases, kept out of line.
extension JSONWalker {
    @inline(never)
    private static func endOfSpaces(_ text: RawSpan, _ start: Int) -> Int {
        var offset = start
        while isSpace(text.peek(at: offset)) { offset &+= 1 }
        return offset
    }

    /// Finds the end of a string from an offset within it.
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

    /// Finds the end of a container or literal.
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

    /// The offset behind the container that is open `depth` times at `start`, which must be outside its strings. Only strings and brackets
    /// are examined; everything between them is skipped quickly.
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

/// Two bytes that often appear together, as little-endian words.
enum BytePair {
    static var colonAndQuote: UInt16 { 0x223A }
    static var commaAndQuote: UInt16 { 0x222C }
}

/// The letters of the literals as little-endian words.
enum Literal {
    static var `true`: UInt32 { 0x6575_7274 }
    static var null: UInt32 { 0x6C6C_756E }
    static var fals: UInt32 { 0x736C_6166 }
}

/// Traverses objects and arrays. For an object, call `enterObject`, then repeat `nextName` and a step over the value until `nextName`
/// returns nil. For an array, call `enterArray` and repeat `nextElement`.
extension JSONWalker {
    /// Enters the object that begins at the offset. Returns false if no object begins there.
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func enterObject() -> Bool { enter(UInt8(ascii: "{")) }

    /// Enters the array that begins at the offset. Returns false if no array begins there.
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func enterArray() -> Bool { enter(UInt8(ascii: "[")) }

    @inline(__always)
    @_lifetime(self: copy self)
    private mutating func enter(_ bracket: UInt8) -> Bool {
        guard byte == bracket else { return false }
        offset &+= 1
        return true
    }

    /// Moves to the next member's value and returns the member's name; nil at the object's end or where it is malformed (`isMalformed`).
    @_lifetime(self: copy self)
    package mutating func nextName() -> JSONExtent? {
        var byte = skipSpaces()
        if byte == UInt8(ascii: ",") {
            offset &+= 1
            byte = skipSpaces()
        }
        guard byte == UInt8(ascii: "\"") else {
            leave(UInt8(ascii: "}"))
            return nil
        }
        let start = offset
        let hasEscapes = skipString()
        let end = offset
        skipColon()
        return isMalformed ? nil : JSONExtent(start: start, end: end, kind: .string, hasEscapes: hasEscapes)
    }

    /// Moves to the next element. Returns false at the array's end or where it is malformed (`isMalformed`).
    @_lifetime(self: copy self)
    package mutating func nextElement() -> Bool {
        var byte = skipSpaces()
        if byte == UInt8(ascii: ",") {
            offset &+= 1
            byte = skipSpaces()
        }
        if byte != UInt8(ascii: "]"), byte != 0 { return true }
        leave(UInt8(ascii: "]"))
        return false
    }

    @inline(__always)
    @_lifetime(self: copy self)
    private mutating func leave(_ bracket: UInt8) {
        if byte == bracket { offset &+= 1 } else { markMalformed() }
    }

    /// Moves behind the null that begins at the offset. Returns false if there is none.
    @_lifetime(self: copy self)
    package mutating func skipNull() -> Bool {
        guard text.loadOrZeros(UInt32.self, at: offset) == Literal.null else { return false }
        offset &+= 4
        return true
    }
}

extension RawSpan {
    /// The text of a value or name that a walker has stepped over.
    @_lifetime(copy self)
    package func slice(_ extent: JSONExtent) -> RawSpan { slice(extent.start, extent.count) }
}

// Operations on eight or sixteen bytes of a text at a time, in one register.

let everyByte: UInt64 = 0x0101_0101_0101_0101
let everyHighBit: UInt64 = 0x8080_8080_8080_8080

/// The high bit of each byte that ends a run of plain text in a string: a quote, a backslash or a control character. Only the lowest bit
/// that is set is exact; those above it may be false positives.
@inline(__always)
func specialBytes(_ word: UInt64) -> UInt64 {
    let quotes = word ^ (everyByte &* 0x22)
    let backslashes = word ^ (everyByte &* 0x5C)
    let found = (quotes &- everyByte) & ~quotes | (backslashes &- everyByte) & ~backslashes | (word &- everyByte &* 0x20) & ~word
    return found & everyHighBit
}

/// The number of leading bytes that are plain text in a string: up to a quote, a backslash or a control character.
@inline(__always)
func plainCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    return (quotes .| backslashes .| (bytes .< SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// The number of leading bytes that are plain ASCII text in a string: up to a quote, a backslash, a control or a non-ASCII character.
@inline(__always)
func asciiCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    // Subtracting 0x20 maps control characters (below 0x20) and non-ASCII bytes (from 0x80 on) to 0x60 and above.
    let others = bytes &- SIMD16<UInt8>(repeating: 0x20) .>= SIMD16<UInt8>(repeating: 0x60)
    return (quotes .| backslashes .| others).firstTrue
}

/// The number of leading bytes that are decimal digits.
@inline(__always)
func digitCount(_ bytes: SIMD16<UInt8>) -> Int {
    (bytes &- SIMD16<UInt8>(repeating: 0x30) .> SIMD16<UInt8>(repeating: 9)).firstTrue
}

/// The number of leading bytes that are neither a quote nor a bracket nor a brace.
@inline(__always)
func unbracketedCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    // Setting the bit in which brackets and braces differ lets one comparison find both.
    let folded = bytes | SIMD16<UInt8>(repeating: 0x20)
    return (quotes .| (folded .== SIMD16<UInt8>(repeating: 0x7B)) .| (folded .== SIMD16<UInt8>(repeating: 0x7D))).firstTrue
}

/// The number of leading bytes that are neither a quote nor a space nor another control character.
@inline(__always)
func unspacedCount(_ bytes: SIMD16<UInt8>) -> Int {
    ((bytes .== SIMD16<UInt8>(repeating: 0x22)) .| (bytes .<= SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// A hash of a name's first word, which other names seldom share. Where a name has less than eight bytes, it includes the closing quote.
@inline(__always)
func nameKey(_ word: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> 32) }
