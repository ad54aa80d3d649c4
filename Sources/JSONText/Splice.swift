internal import Bytes

/// A JSON text being edited: opened where an edit touches it, copied as slices elsewhere.
///
/// One per worker, reused from event to event: once warm it allocates nothing. The text was validated when it was
/// appended; malformed text is nevertheless an error, and nothing outside it is ever read.
package struct Splice: ~Copyable {
    /// A value of the loaded text; valid until the next load.
    package struct Node: Hashable, Sendable {
        let index: Int32
    }

    /// What is known of one value. Offsets are into the arena, links are indexes of records, -1 is none.
    struct Record: BitwiseCopyable {
        /// `nameKey` of the unescaped name.
        var key: UInt32 = 0
        /// The name's string literal with its quotes.
        var nameStart: Int32 = -1
        var nameCount: Int32 = 0
        /// The value's text; of an opened container, its first and last child.
        var start: Int32
        var count: Int32
        var parent: Int32 = -1
        var next: Int32 = -1
        var kind: JSONKind
        var isOpened = false
        var nameHasEscapes = false
        /// Whether the value follows its name with nothing but the colon between them.
        var isCompact = false

        var firstChild: Int32 { isOpened ? start : -1 }

        @inline(__always)
        mutating func spell(_ key: UInt32, at start: Int, _ count: Int, hasEscapes: Bool) {
            self.key = key
            nameStart = Int32(truncatingIfNeeded: start)
            nameCount = Int32(truncatingIfNeeded: count)
            nameHasEscapes = hasEscapes
            isCompact = false
        }

        @inline(__always)
        mutating func place(_ kind: JSONKind, _ start: Int, _ count: Int) {
            self.start = Int32(truncatingIfNeeded: start)
            self.count = Int32(truncatingIfNeeded: count)
            self.kind = kind
            isOpened = false
            isCompact = nameStart >= 0 && nameStart &+ nameCount &+ 1 == self.start
        }
    }

    // Every text in the arena is followed by `textEnd`. The arena only grows until the next load: slices of it can be
    // shared.
    var arena = ByteBuffer(capacity: 4096)
    var records = Slots<Record>(capacity: 64)

    /// The first malformed text that opening a value met since the load; such a value has no children.
    package internal(set) var fault: JSONError?

    package init() {}

    /// Takes a copy of a text and finds the members of its root; what was loaded before is forgotten.
    package mutating func load(_ text: RawSpan) throws(JSONError) {
        arena.removeAll()
        records.removeAll()
        fault = nil
        guard text.byteCount < Splice.arenaMax else { throw JSONError("a text of less than 1 GiB was expected", at: Splice.arenaMax) }
        arena.append(text)
        arena.append(littleEndian: textEnd)
        let start = Self.endOfSpaces(arena, 0)
        guard let kind = JSONKind(firstByte: arena.bytes.byte(at: start)) else { throw JSONError("a value was expected", at: start) }
        records.append(Record(start: Int32(start), count: 0, kind: kind))
        let end: Int
        if kind.isContainer {
            end = try scanChildren(in: arena, of: 0, into: &records)
        } else {
            var walk = JSONWalker(arena.bytes, at: start)
            end = walk.skipValue().end
            guard !walk.isLost else { throw JSONError("a value was expected", at: start) }
            records[0].count = Int32(end - start)
        }
        let rest = Self.endOfSpaces(arena, end)
        guard rest == text.byteCount else { throw JSONError("the end of the text was expected", at: rest) }
    }

    private static func endOfSpaces(_ arena: borrowing ByteBuffer, _ start: Int) -> Int {
        var walk = JSONWalker(arena.bytes, at: start)
        walk.skipSpaces()
        return walk.offset
    }

    /// The value that the whole text is.
    package var root: Node { Node(index: 0) }

    static let arenaMax = 1 << 30

    func record(_ node: Node) -> Record { records[Int(node.index)] }
}
