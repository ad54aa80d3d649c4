internal import Bytes

/// A JSON text that is being edited: parsed where an edit touches it, copied as slices elsewhere.
///
/// Each worker has one and reuses it for every event: once warm, it allocates nothing. The text was validated when it was appended;
/// malformed text is reported as an error nevertheless, and nothing outside the text is ever read.
package struct JSONEditor: ~Copyable {
    /// A value of the loaded text; valid until the next load.
    package struct Node: Hashable, Sendable {
        let index: Int32
    }

    /// What is known about one value. Offsets refer to the arena, links are indexes of records, and -1 means none.
    struct Record: BitwiseCopyable {
        /// `nameKey` of the unescaped name.
        var key: UInt32 = 0
        /// The name's string literal, including its quotes.
        var nameStart: Int32 = -1
        var nameCount: Int32 = 0
        /// The range of the value's text; for an opened container, the indexes of its first and last child.
        var start: Int32
        var count: Int32
        var parent: Int32 = -1
        var next: Int32 = -1
        var kind: JSONKind
        var isOpened = false
        var nameHasEscapes = false
        /// Whether only a colon separates the value from its name.
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

    // Each text in the arena is followed by `textEnd`. The arena only grows until the next load, so that slices of it can be shared.
    var arena = ByteBuffer(capacity: 4096)
    var records = UniqueArray<Record>(capacity: 64)

    /// The first malformed text that was met since the load while opening a value; that value has no children.
    package internal(set) var fault: JSONError?

    package init() {}

    /// Copies a text and finds the members of its root. Forgets what was loaded before.
    package mutating func load(_ text: RawSpan) throws(JSONError) {
        arena.removeAll()
        records.removeAll()
        fault = nil
        guard text.byteCount < JSONEditor.arenaMax else {
            throw JSONError("a text of less than 1 GiB was expected", at: JSONEditor.arenaMax)
        }
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
            guard !walk.isMalformed else { throw JSONError("a value was expected", at: start) }
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

    /// The root: the value that makes up the whole text.
    package var root: Node { Node(index: 0) }

    static let arenaMax = 1 << 30

    func record(_ node: Node) -> Record { records[Int(node.index)] }
}
