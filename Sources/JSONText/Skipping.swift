internal import Bytes

// Finding where values end in text that was validated before. Grammar is checked as far as finding the end needs it:
// structure, the ends of strings, the letters of literals; not the inside of numbers, escapes or UTF-8. The text is
// followed by `textEnd`: offsets stay far below what `&+` could overflow.

/// The zero bytes behind a text that is scanned. They belong to no value and end every scan, so that sixteen bytes can be
/// loaded wherever a value may begin or go on.
package var textEnd: UInt128 { 0 }
package var textEndBytes: Int { 16 }

@inline(__always)
func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
}

@inline(__always)
func skipSpaces(_ text: RawSpan, at start: Int) -> Int {
    text.byte(at: start) > 0x20 ? start : skipSomeSpaces(text, at: start)
}

/// The first byte that is no space, to which the offset is moved.
@inline(__always)
func skipSpaces(_ text: RawSpan, _ offset: inout Int) -> UInt8 {
    let byte = text.byte(at: offset)
    if byte > 0x20 { return byte }
    offset = skipSomeSpaces(text, at: offset)
    return text.byte(at: offset)
}

@inline(never)
private func skipSomeSpaces(_ text: RawSpan, at start: Int) -> Int {
    var offset = start
    while isSpace(text.byte(at: offset)) { offset &+= 1 }
    return offset
}

/// The kind of the value that begins at `start` with `byte`, the offset behind it, and whether it is a string with escapes.
@inline(__always)
func skipValue(
    _ text: RawSpan, _ byte: UInt8, at start: Int, depth: Int = 0
) throws(JSONError) -> (end: Int, kind: JSONKind, hasEscapes: Bool) {
    if byte == UInt8(ascii: "\"") {
        let string = try skipString(text, at: start)
        return (string.end, .string, string.hasEscapes)
    }
    if isDigit(byte) || byte == UInt8(ascii: "-") { return (skipNumber(text, at: start), .number, false) }
    let other = try skipOther(text, at: start, depth: depth)
    return (other.end, other.kind, false)
}

/// Moves the offset from a member's name to the value behind its colon; the value's first byte.
@inline(__always)
func skipColon(_ text: RawSpan, _ offset: inout Int) throws(JSONError) -> UInt8 {
    guard skipSpaces(text, &offset) == UInt8(ascii: ":") else { throw JSONError("a colon was expected", at: offset) }
    offset &+= 1
    return skipSpaces(text, &offset)
}

/// A member's name as it is found: where it ends, its key if it has no escapes.
@inline(__always)
func skipName(_ text: RawSpan, at start: Int) throws(JSONError) -> (end: Int, key: UInt32, hasEscapes: Bool) {
    let word = text.load(UInt64.self, at: start &+ 1)
    let special = specialBytes(word)
    // The common name ends within the word, and so does its key: at its quote.
    if special != 0 {
        let end = start &+ 1 &+ special.trailingZeroBitCount >> 3
        if text.byte(at: end) == UInt8(ascii: "\"") { return (end &+ 1, nameKey(word & (special ^ (special &- 1)) >> 1), false) }
    }
    let found = try skipString(text, at: start)
    return (found.end, nameKey(word), found.hasEscapes)
}

/// A number that names of other bytes seldom share, of their first word: of a name of less than eight bytes with its
/// quote, of another the first eight bytes.
@inline(__always)
func nameKey(_ word: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> 32) }

@inline(__always)
func skipString(_ text: RawSpan, at start: Int) throws(JSONError) -> (end: Int, hasEscapes: Bool) {
    // Most strings end within the first sixteen bytes.
    let end = start &+ 1 &+ plainCount(text.sixteen(at: start &+ 1))
    if text.byte(at: end) == UInt8(ascii: "\"") { return (end &+ 1, false) }
    return try skipLongString(text, at: end)
}

/// The same from an offset within a string.
@inline(never)
private func skipLongString(_ text: RawSpan, at start: Int) throws(JSONError) -> (end: Int, hasEscapes: Bool) {
    var offset = start
    var hasEscapes = false
    while true {
        let plain = plainCount(text.sixteen(at: offset))
        offset &+= plain
        if plain == 16 { continue }
        let byte = text.byte(at: offset)
        if byte == UInt8(ascii: "\"") { return (offset &+ 1, hasEscapes) }
        guard byte == UInt8(ascii: "\\") else { throw JSONError("the end of a string was expected", at: offset) }
        hasEscapes = true
        // A zero behind the backslash is the end of the text.
        offset &+= text.byte(at: offset &+ 1) == 0 ? 1 : 2
    }
}

@inline(__always)
func skipNumber(_ text: RawSpan, at start: Int) -> Int {
    // Most numbers are a few digits.
    let end = start &+ 1 &+ digitCount(text.sixteen(at: start &+ 1))
    return isInNumber(text.byte(at: end)) ? skipLongNumber(text, at: end) : end
}

@inline(never)
private func skipLongNumber(_ text: RawSpan, at start: Int) -> Int {
    var offset = start
    while isInNumber(text.byte(at: offset)) { offset &+= 1 &+ digitCount(text.sixteen(at: offset &+ 1)) }
    return offset
}

@inline(__always)
private func isInNumber(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
}

/// A container or literal.
@inline(never)
private func skipOther(_ text: RawSpan, at start: Int, depth: Int) throws(JSONError) -> (end: Int, kind: JSONKind) {
    let word = text.load(UInt32.self, at: start)
    switch UInt8(truncatingIfNeeded: word) {
    case UInt8(ascii: "{"):
        return (try skipObject(text, at: start, depth: depth + 1), .object)
    case UInt8(ascii: "["):
        return (try skipArray(text, at: start, depth: depth + 1), .array)
    default:
        if word == Literal.true { return (start &+ 4, .true) }
        if word == Literal.null { return (start &+ 4, .null) }
        if word == Literal.fals, text.byte(at: start &+ 4) == UInt8(ascii: "e") { return (start &+ 5, .false) }
        throw JSONError("a value was expected", at: start)
    }
}

private func skipObject(_ text: RawSpan, at start: Int, depth: Int) throws(JSONError) -> Int {
    guard depth <= JSONLimits.deepest else { throw JSONError("a text of less depth was expected", at: start) }
    var offset = start &+ 1
    var byte = skipSpaces(text, &offset)
    if byte == UInt8(ascii: "}") { return offset &+ 1 }
    while true {
        guard byte == UInt8(ascii: "\"") else { throw JSONError("a member's name was expected", at: offset) }
        offset = try skipString(text, at: offset).end
        byte = try skipColon(text, &offset)
        offset = try skipValue(text, byte, at: offset, depth: depth).end
        byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: "}") { return offset &+ 1 }
        guard byte == UInt8(ascii: ",") else { throw JSONError("a comma or the end of the object was expected", at: offset) }
        offset &+= 1
        byte = skipSpaces(text, &offset)
    }
}

private func skipArray(_ text: RawSpan, at start: Int, depth: Int) throws(JSONError) -> Int {
    guard depth <= JSONLimits.deepest else { throw JSONError("a text of less depth was expected", at: start) }
    var offset = start &+ 1
    var byte = skipSpaces(text, &offset)
    if byte == UInt8(ascii: "]") { return offset &+ 1 }
    while true {
        offset = try skipValue(text, byte, at: offset, depth: depth).end
        byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: "]") { return offset &+ 1 }
        guard byte == UInt8(ascii: ",") else { throw JSONError("a comma or the end of the array was expected", at: offset) }
        offset &+= 1
        byte = skipSpaces(text, &offset)
    }
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
