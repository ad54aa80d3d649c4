internal import Bytes

/// A member's name as a text spells it.
package struct JSONName: BitwiseCopyable, Sendable {
    /// Its literal, with the quotes.
    package let start, end: Int
    package let hasEscapes: Bool

    @inline(__always)
    package init(start: Int, end: Int, hasEscapes: Bool) { (self.start, self.end, self.hasEscapes) = (start, end, hasEscapes) }
}

/// Going through an object: `enterObject`, then `nextName` and a step over the value until there is no name; through an array:
/// `enterArray` and `nextElement`.
extension JSONWalker {
    /// Goes into the object that begins here; false where none does.
    @inline(__always)
    @_lifetime(self: copy self)
    package mutating func enterObject() -> Bool { enter(UInt8(ascii: "{")) }

    /// Goes into the array that begins here; false where none does.
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

    /// Goes to the next member's value; the member's name, nil behind the object's end or where it is malformed (`isLost`).
    @_lifetime(self: copy self)
    package mutating func nextName() -> JSONName? {
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
        return isLost ? nil : JSONName(start: start, end: end, hasEscapes: hasEscapes)
    }

    /// Goes to the next element; false behind the array's end or where it is malformed (`isLost`).
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
        if byte == bracket { offset &+= 1 } else { lose() }
    }

    /// Goes behind the null that begins here; false where none does.
    @_lifetime(self: copy self)
    package mutating func skipNull() -> Bool {
        guard text.loadOrZeros(UInt32.self, at: offset) == Literal.null else { return false }
        offset &+= 4
        return true
    }
}

extension RawSpan {
    /// A member's name with its quotes.
    @_lifetime(copy self)
    package func slice(_ name: JSONName) -> RawSpan { slice(name.start, name.end &- name.start) }

    /// The text of a value that a walker stepped over.
    @_lifetime(copy self)
    package func slice(_ extent: JSONExtent) -> RawSpan { slice(extent.start, extent.count) }
}
