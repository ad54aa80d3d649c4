internal import Bytes

/// Why a text is not the JSON that was expected, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected, or which limit was exceeded.
    package let reason: String
    /// In bytes from the beginning of the text.
    package let offset: Int

    package init(_ reason: String, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(reason), at byte \(offset)" }
}

/// The kind of a JSON value, which its first byte determines.
package enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case object, array, string, number, `true`, `false`, null

    /// The kind of value that `byte` begins, or nil.
    @inline(__always)
    package init?(firstByte byte: UInt8) {
        if byte == UInt8(ascii: "\"") {
            self = .string
        } else if byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-") {
            self = .number
        } else {
            switch byte {
            case UInt8(ascii: "{"): self = .object
            case UInt8(ascii: "["): self = .array
            case UInt8(ascii: "t"): self = .true
            case UInt8(ascii: "f"): self = .false
            case UInt8(ascii: "n"): self = .null
            default: return nil
            }
        }
    }

    /// Whether values of this kind contain other values.
    package var isContainer: Bool { rawValue <= JSONKind.array.rawValue }
}

/// Limits on the size and nesting of a text, checked while it is validated.
package struct JSONLimits: Hashable, Sendable {
    /// How many containers may be open at once; never more than `deepest`.
    package var depth: Int
    /// The members of all objects plus the elements of all arrays in the text.
    package var members: Int
    package var bytes: Int

    package init(depth: Int = 64, members: Int = 10_000, bytes: Int = 1 << 20) {
        self.depth = depth
        self.members = members
        self.bytes = bytes
    }

    /// For text whose size was already limited when it was accepted.
    package static let none = JSONLimits(depth: deepest, members: .max, bytes: .max)

    /// The nesting depth that no text may exceed, whatever its limits, so that recursion fits a small thread's stack.
    package static let deepest = 512
    /// How many digits a number's exponent may have, not counting leading zeros.
    package static let exponentDigits = 9
}

/// Strict validation of untrusted text.
package enum JSONScanner {
    /// Checks that a text is one JSON value as defined in RFC 8259, in valid UTF-8 without a byte order mark, with no duplicate member
    /// names in an object and no lone surrogates, within the limits. Returns the kind of its root.
    ///
    /// Names are compared unescaped. The text is read in one pass; a number's exponent has at most `JSONLimits.exponentDigits` digits.
    package static func validate(_ text: RawSpan, limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONKind {
        try requireSize(of: text, limits)
        var validator = JSONValidator(text, limits, NullRecorder())
        return try validator.validate()
    }

    static func requireSize(of text: RawSpan, _ limits: JSONLimits) throws(JSONError) {
        guard text.byteCount <= min(limits.bytes, Int(Int32.max)) else {
            throw JSONError("a text of at most \(limits.bytes) bytes was expected", at: limits.bytes)
        }
    }
}

/// Records the values and names of a text while it is validated, in the order of the text.
protocol ValueRecorder: ~Copyable {
    /// A value begins at the offset; returns the number by which `end` refers to it.
    mutating func begin(_ kind: JSONKind, at offset: Int) -> Int
    /// The value ends before the offset; `elements` is the number of elements of an array.
    mutating func end(_ value: Int, at offset: Int, hasEscapes: Bool, elements: Int)
    /// A member's name lies between the offsets, without its quotes.
    mutating func name(_ start: Int, _ end: Int, hasEscapes: Bool)
}

struct NullRecorder: ValueRecorder {
    @inline(__always)
    func begin(_ kind: JSONKind, at offset: Int) -> Int { 0 }

    @inline(__always)
    func end(_ value: Int, at offset: Int, hasEscapes: Bool, elements: Int) {}

    @inline(__always)
    func name(_ start: Int, _ end: Int, hasEscapes: Bool) {}
}

/// Validates one text in one pass.
struct JSONValidator<Record: ValueRecorder & ~Copyable>: ~Copyable, ~Escapable {
    let text: RawSpan
    let depthMax: Int
    let membersMax: Int
    let comparesNames: Bool
    var offset = 0
    var members = 0
    /// The names in the objects that are open, outermost object first.
    var names = NameStack()
    var record: Record

    @_lifetime(copy text)
    init(_ text: RawSpan, _ limits: JSONLimits, _ record: consuming Record, comparesNames: Bool = true) {
        self.text = text
        depthMax = min(limits.depth, JSONLimits.deepest)
        membersMax = limits.members
        self.comparesNames = comparesNames
        self.record = record
    }

    mutating func validate() throws(JSONError) -> JSONKind {
        skipSpaces()
        if current == 0xEF, offset == 0 { throw JSONError("a text without a byte order mark was expected", at: 0) }
        let kind = try value(depth: 0)
        skipSpaces()
        guard offset == text.byteCount else { throw expected("the end of the text") }
        return kind
    }

    /// The next byte to read; at the end of the text 0, which is part of no token.
    @inline(__always)
    var current: UInt8 { text.peek(at: offset) }

    @inline(__always)
    mutating func skipSpaces() {
        if current <= 0x20 { skipSomeSpaces() }
    }

    @inline(never)
    private mutating func skipSomeSpaces() {
        while isSpace(current) { offset &+= 1 }
    }

    private var tooMany: JSONError { expected("a text of at most \(membersMax) members and elements") }

    @inline(never)
    func expected(_ what: String) -> JSONError { JSONError("\(what) was expected", at: offset) }

    @inline(__always)
    mutating func value(depth: Int) throws(JSONError) -> JSONKind {
        guard let kind = JSONKind(firstByte: current) else { throw expected("a value") }
        let value = record.begin(kind, at: offset)
        var hasEscapes = false
        var elements = 0
        switch kind {
        case .string: hasEscapes = try string()
        case .number: try number()
        case .object: try object(depth: depth + 1)
        case .array: elements = try array(depth: depth + 1)
        case .true: try literal(Literal.true, last: nil)
        case .false: try literal(Literal.fals, last: UInt8(ascii: "e"))
        case .null: try literal(Literal.null, last: nil)
        }
        record.end(value, at: offset, hasEscapes: hasEscapes, elements: elements)
        return kind
    }

    mutating func object(depth: Int) throws(JSONError) {
        guard depth <= depthMax else { throw expected("a text of at most \(depthMax) open containers") }
        offset &+= 1
        skipSpaces()
        if current == UInt8(ascii: "}") {
            offset &+= 1
            return
        }
        let outer = names.count
        var seen: UInt64 = 0
        while true {
            guard current == UInt8(ascii: "\"") else { throw expected("a member's name") }
            try name(outer: outer, seen: &seen)
            skipSpaces()
            guard current == UInt8(ascii: ":") else { throw expected("a colon") }
            offset &+= 1
            skipSpaces()
            _ = try value(depth: depth)
            skipSpaces()
            switch current {
            case UInt8(ascii: ","):
                offset &+= 1
                skipSpaces()
            case UInt8(ascii: "}"):
                if names.count - outer > NameStack.fewNames, let twice = names.duplicate(after: outer, in: text) {
                    throw JSONError("another name was expected: its object has a member of this one already", at: twice)
                }
                names.removeLast(names.count - outer)
                offset &+= 1
                return
            default:
                throw expected("a comma or the end of the object")
            }
        }
    }

    /// Reads an array and returns the number of its elements.
    mutating func array(depth: Int) throws(JSONError) -> Int {
        guard depth <= depthMax else { throw expected("a text of at most \(depthMax) open containers") }
        offset &+= 1
        skipSpaces()
        var count = 0
        if current == UInt8(ascii: "]") {
            offset &+= 1
            return count
        }
        while true {
            members &+= 1
            guard members <= membersMax else { throw tooMany }
            _ = try value(depth: depth)
            count &+= 1
            skipSpaces()
            switch current {
            case UInt8(ascii: ","):
                offset &+= 1
                skipSpaces()
            case UInt8(ascii: "]"):
                offset &+= 1
                return count
            default:
                throw expected("a comma or the end of the array")
            }
        }
    }

    /// Reads a member's name, which must be new in its object. `seen` has a bit set for each name so far: if the bit of a new name is not
    /// set, no earlier name equals it. Objects with many members are checked when they end.
    @inline(__always)
    mutating func name(outer: Int, seen: inout UInt64) throws(JSONError) {
        members &+= 1
        guard members <= membersMax else { throw tooMany }
        let start = offset
        let hasEscapes = try string()
        record.name(start &+ 1, offset &- 1, hasEscapes: hasEscapes)
        if !comparesNames { return }
        let name = names.append(text, start + 1, offset - start - 2, hasEscapes: hasEscapes)
        let bit: UInt64 = 1 << UInt64(name.hash & 63)
        if seen & bit != 0, names.count - outer <= NameStack.fewNames, names.hasTwice(name, after: outer, in: text) {
            throw JSONError("another name was expected: its object has a member of this one already", at: start)
        }
        seen |= bit
    }
}

extension JSONValidator where Record: ~Copyable {
    /// Reads the string that begins at the offset. Returns whether it has escapes.
    @inline(__always)
    @discardableResult
    mutating func string() throws(JSONError) -> Bool {
        var hasEscapes = false
        // A local copy keeps the offset in a register inside the hot loop.
        var at = offset &+ 1
        while true {
            let plain = asciiCount(text.sixteenOrZeros(at: at))
            at &+= plain
            if plain == 16 { continue }
            let byte = text.peek(at: at)
            if byte == UInt8(ascii: "\"") {
                offset = at &+ 1
                return hasEscapes
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
        let (count, second): (Int, ClosedRange<UInt8>) =
            switch text.byte(at: offset) {
            case 0xC2 ... 0xDF: (2, 0x80 ... 0xBF)
            case 0xE0: (3, 0xA0 ... 0xBF)
            case 0xED: (3, 0x80 ... 0x9F)
            case 0xE1 ... 0xEF: (3, 0x80 ... 0xBF)
            case 0xF0: (4, 0x90 ... 0xBF)
            case 0xF1 ... 0xF3: (4, 0x80 ... 0xBF)
            case 0xF4: (4, 0x80 ... 0x8F)
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
