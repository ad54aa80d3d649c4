internal import Bytes

/// A member's name as it is spelled in a text.
package struct JSONName: BitwiseCopyable, Sendable {
    /// The range of the name's literal, including the quotes.
    package let start, end: Int
    package let hasEscapes: Bool

    @inline(__always)
    package init(start: Int, end: Int, hasEscapes: Bool) { (self.start, self.end, self.hasEscapes) = (start, end, hasEscapes) }
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
        return isMalformed ? nil : JSONName(start: start, end: end, hasEscapes: hasEscapes)
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
    /// The literal of a member's name, including its quotes.
    @_lifetime(copy self)
    package func slice(_ name: JSONName) -> RawSpan { slice(name.start, name.end &- name.start) }

    /// The text of a value that a walker has stepped over.
    @_lifetime(copy self)
    package func slice(_ extent: JSONExtent) -> RawSpan { slice(extent.start, extent.count) }
}
