package import Bytes

/// A member that an object may have.
package struct KnownMember {
    package let name: MemberName
    /// The kinds that its value may have, a bit for each by `JSONKind.rawValue`.
    package let kinds: UInt8
    package let isRequired: Bool

    package init(_ name: MemberName, kinds: UInt8, isRequired: Bool) {
        (self.name, self.kinds, self.isRequired) = (name, kinds, isRequired)
    }
}

/// The members that an object may have, found in one pass over its text. They are looked for in the order in which they
/// are given, which costs one comparison each where the text has the same order.
package final class KnownMembers: Sendable {
    private struct Name: BitwiseCopyable, Sendable {
        let word, mask: UInt64
        let count: Int32
        /// Where the bytes beyond the first eight stand in `rests`.
        let rest: Int32
        let kinds: UInt8
    }

    private let names: Slots<Name>
    private let rests: ByteBuffer
    /// A bit for each member that has to be there.
    private let required: UInt64

    package var count: Int { names.count }

    /// Nil where a name needs escapes, or there are more than 64.
    package init?(_ members: [KnownMember]) {
        guard members.count <= 64, !members.contains(where: { $0.name.forms.hasEscapes }) else { return nil }
        var rests = ByteBuffer(capacity: 64)
        var all = Slots<Name>(capacity: members.count)
        var required: UInt64 = 0
        for (index, member) in members.enumerated() {
            let forms = member.name.forms
            all.append(
                Name(word: forms.word, mask: forms.mask, count: Int32(forms.count), rest: Int32(rests.count), kinds: member.kinds))
            rests.append(Array(member.name.utf8.dropFirst(8)))
            if member.isRequired { required |= 1 << UInt64(index) }
        }
        names = all
        self.rests = rests
        self.required = required
    }

    /// Which member's name stands behind the quote at `offset`, looked for from `expected` on.
    @inline(__always)
    private func index(of text: RawSpan, at offset: Int, from expected: Int) -> Int? {
        let word = text.load(UInt64.self, at: offset &+ 1)
        var index = expected
        for _ in 0 ..< names.count {
            if index >= names.count { index = 0 }
            if (word ^ names[index].word) & names[index].mask == 0, names[index].count < 8 || ends(index, text, at: offset) { return index }
            index &+= 1
        }
        return nil
    }

    private func ends(_ index: Int, _ text: RawSpan, at offset: Int) -> Bool {
        let end = offset &+ 1 &+ Int(names[index].count)
        guard end < text.byteCount, text.byte(at: end) == UInt8(ascii: "\"") else { return false }
        let count = end &- offset &- 9
        return rests.holds(text.slice(offset &+ 9, count), at: Int(names[index].rest))
    }

    /// Finds the members of the object that begins at `start`: member i in `slots[base + i]`, and in `order` the slots in
    /// the text's order.
    ///
    /// - Returns: the offset behind the object; nil where it has another member, one twice, one of another kind, lacks one
    ///   that is required, or is malformed.
    package func scan(
        _ arena: borrowing ByteBuffer, at start: Int, base: Int, into slots: inout Slots<ValueSlot>, order: inout Slots<Int32>
    ) -> Int? {
        do { return try scanAll(arena, at: start, base: base, into: &slots, order: &order) } catch { return nil }
    }

    private func scanAll(
        _ arena: borrowing ByteBuffer, at start: Int, base: Int, into slots: inout Slots<ValueSlot>, order: inout Slots<Int32>
    ) throws(JSONError) -> Int? {
        let text = arena.bytes
        var offset = start &+ 1
        var byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: "}") { return required == 0 ? offset &+ 1 : nil }
        var expected = 0
        var seen: UInt64 = 0
        while true {
            guard byte == UInt8(ascii: "\""), let index = index(of: text, at: offset, from: expected) else { return nil }
            expected = index &+ 1
            guard seen &>> UInt64(index) & 1 == 0 else { return nil }
            seen |= 1 &<< UInt64(index)
            var slot = ValueSlot(kind: .null)
            slot.nameStart = Int32(truncatingIfNeeded: offset)
            offset &+= Int(names[index].count) &+ 2
            let nameEnd = offset
            byte = try skipColon(text, &offset)
            slot.isCompact = offset == nameEnd &+ 1
            slot.nameEnd = Int32(truncatingIfNeeded: nameEnd)
            slot.start = Int32(truncatingIfNeeded: offset)
            if byte == UInt8(ascii: "\"") {
                (offset, slot.hasEscapes) = try skipString(text, at: offset)
                slot.kind = .string
            } else {
                (offset, slot.kind) = try skipValue(text, byte, at: offset)
            }
            guard names[index].kinds &>> slot.kind.rawValue & 1 != 0 else { return nil }
            slot.end = Int32(truncatingIfNeeded: offset)
            slots[base &+ index] = slot
            order.append(Int32(truncatingIfNeeded: base &+ index))
            byte = skipSpaces(text, &offset)
            if byte == UInt8(ascii: "}") { return seen & required == required ? offset &+ 1 : nil }
            guard byte == UInt8(ascii: ",") else { return nil }
            offset &+= 1
            byte = skipSpaces(text, &offset)
        }
    }
}

extension ByteBuffer {
    fileprivate borrowing func holds(_ text: RawSpan, at start: Int) -> Bool { slice(start, text.byteCount).equals(text) }
}

/// Where a value stands: a member of a text, or made from one.
package struct ValueSlot: BitwiseCopyable, Sendable {
    /// The name's literal with its quotes.
    package var nameStart: Int32 = -1
    package var nameEnd: Int32 = -1
    /// The value's text; `start` is below zero where there is none.
    package var start: Int32 = -1
    package var end: Int32 = -1
    package var kind: JSONKind
    package var hasEscapes = false
    /// Whether the value follows its name with nothing but the colon between them.
    package var isCompact = false
    /// Whether the text stands among what was made, not in the input.
    package var isMade = false
    /// Whether the text is a string's content without its quotes.
    package var isBare = false

    package init(kind: JSONKind) { self.kind = kind }
}

/// Takes a text into an arena, where eight zero bytes follow it.
///
/// - Returns: where its first value begins, or nil if the text is longer than any document may be.
package func takeText(_ text: RawSpan, into arena: inout ByteBuffer) -> Int? {
    arena.removeAll()
    guard text.byteCount < Splice.arenaMax else { return nil }
    arena.append(text)
    arena.append(littleEndian: UInt64(0))
    return skipSpaces(arena.bytes, at: 0)
}

/// Whether nothing but spaces stands between an offset and the end of the text that `takeText` took.
package func isEnd(of arena: borrowing ByteBuffer, at offset: Int) -> Bool { skipSpaces(arena.bytes, at: offset) == arena.count - 8 }

/// The first element of the array that begins at `start`, and how many there are; nil where it is malformed.
package func scanElements(_ arena: borrowing ByteBuffer, at start: Int) -> (first: ValueSlot, count: Int)? {
    let text = arena.bytes
    var first = ValueSlot(kind: .null)
    var offset = start &+ 1
    var byte = skipSpaces(text, &offset)
    if byte == UInt8(ascii: "]") { return (first, 0) }
    var count = 0
    while true {
        let begin = offset
        do throws(JSONError) {
            let value = try skipValue(text, byte, at: offset)
            offset = value.end
            if count == 0 {
                first.kind = value.kind
                if value.kind == .string { first.hasEscapes = try skipString(text, at: begin).hasEscapes }
            }
        } catch { return nil }
        if count == 0 { (first.start, first.end) = (Int32(truncatingIfNeeded: begin), Int32(truncatingIfNeeded: offset)) }
        count &+= 1
        byte = skipSpaces(text, &offset)
        if byte == UInt8(ascii: "]") { return (first, count) }
        guard byte == UInt8(ascii: ",") else { return nil }
        offset &+= 1
        byte = skipSpaces(text, &offset)
    }
}
