internal import Bytes

extension JSONValidator where Record: ~Copyable {
    /// Reads the string that begins at the offset. Returns whether it has escapes.
    @inline(__always)
    @discardableResult
    mutating func string() throws(JSONError) -> Bool {
        var hasEscapes = false
        // A local copy keeps the offset in a register inside the hot loop.
        var at = offset &+ 1
        while true {
            if at &+ 16 <= text.byteCount {
                let plain = asciiCount(text.sixteen(at: at))
                at &+= plain
                if plain == 16 { continue }
            } else if at &+ 8 <= text.byteCount {
                let word = text.load(UInt64.self, at: at)
                let stops = specialBytes(word) | wideBytes(word)
                if stops == 0 {
                    at &+= 8
                    continue
                }
                at &+= stops.trailingZeroBitCount >> 3
            }
            let byte = text.peek(at: at)
            if byte == UInt8(ascii: "\"") {
                offset = at &+ 1
                return hasEscapes
            }
            if byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\\") {
                at &+= 1
                continue
            }
            offset = at
            hasEscapes = hasEscapes || byte == UInt8(ascii: "\\")
            try unusual(byte)
            at = offset
        }
    }

    /// Reads what is not plain ASCII in a string: an escape, or a scalar of several bytes.
    @inline(never)
    private mutating func unusual(_ byte: UInt8) throws(JSONError) {
        if byte >= 0x80 { return try wideScalar() }
        guard byte == UInt8(ascii: "\\") else {
            throw expected(offset < text.byteCount ? "a control character as an escape, or the end of a string," : "the end of a string")
        }
        guard let escape = Escape(text, at: offset) else { throw expected("an escape of RFC 8259, with both surrogates of a pair,") }
        offset &+= escape.count
    }

    /// Reads a scalar of two to four bytes, by the table of well-formed sequences in RFC 3629.
    @inline(never)
    mutating func wideScalar() throws(JSONError) {
        let first = text.byte(at: offset)
        let count: Int
        var second: ClosedRange<UInt8> = 0x80 ... 0xBF
        switch first {
        case 0xC2 ... 0xDF: count = 2
        case 0xE0:
            count = 3
            second = 0xA0 ... 0xBF
        case 0xED:
            count = 3
            second = 0x80 ... 0x9F
        case 0xE1 ... 0xEF: count = 3
        case 0xF0:
            count = 4
            second = 0x90 ... 0xBF
        case 0xF1 ... 0xF3: count = 4
        case 0xF4:
            count = 4
            second = 0x80 ... 0x8F
        default: throw expected("valid UTF-8")
        }
        guard offset + count <= text.byteCount, second.contains(text.byte(at: offset + 1)) else { throw expected("valid UTF-8") }
        for index in 2 ..< max(count, 2) {
            guard text.byte(at: offset + index) & 0xC0 == 0x80 else { throw expected("valid UTF-8") }
        }
        offset &+= count
    }

    @inline(__always)
    mutating func number() throws(JSONError) {
        var at = offset
        if text.peek(at: at) == UInt8(ascii: "-") { at &+= 1 }
        if text.peek(at: at) == UInt8(ascii: "0") {
            at &+= 1
            offset = at
            if isDigit(text.peek(at: at)) { throw expected("a number without leading zeros") }
        } else {
            at = try digits(at)
        }
        if text.peek(at: at) == UInt8(ascii: ".") { at = try digits(at &+ 1) }
        offset = at
        if text.peek(at: at) | 0x20 == UInt8(ascii: "e") { try exponent() }
    }

    /// Reads one or more digits and returns the offset behind them.
    @inline(__always)
    private mutating func digits(_ start: Int) throws(JSONError) -> Int {
        var at = start
        while isDigit(text.peek(at: at)) { at &+= 1 }
        if at == start {
            offset = start
            throw expected("a digit")
        }
        return at
    }

    @inline(never)
    private mutating func exponent() throws(JSONError) {
        offset &+= 1
        if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { offset &+= 1 }
        guard isDigit(current) else { throw expected("a digit") }
        while current == UInt8(ascii: "0") { offset &+= 1 }
        let start = offset
        while isDigit(current) { offset &+= 1 }
        guard offset - start <= JSONLimits.exponentDigits else {
            throw JSONError("an exponent of at most \(JSONLimits.exponentDigits) digits was expected", at: start)
        }
    }

    @inline(__always)
    mutating func literal(_ letters: UInt32, last: UInt8?) throws(JSONError) {
        let count = last == nil ? 4 : 5
        guard offset + count <= text.byteCount, text.load(UInt32.self, at: offset) == letters,
            last == nil || text.byte(at: offset + 4) == last
        else { throw expected("true, false or null") }
        offset &+= count
    }
}
