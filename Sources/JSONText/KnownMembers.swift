package import Bytes

/// A member that an object may have.
package struct KnownMember {
    package let name: MemberName
    /// The kinds that its value may have, as a bit mask over `JSONKind.rawValue`.
    package let kinds: UInt8
    package let isRequired: Bool

    package init(_ name: MemberName, kinds: UInt8, isRequired: Bool) {
        (self.name, self.kinds, self.isRequired) = (name, kinds, isRequired)
    }
}

/// Finds the members that an object may have in one pass over its text.
package final class KnownMembers: Sendable {
    private struct Name: BitwiseCopyable, Sendable {
        /// The name's first eight bytes and the next eight, followed by a quote, each with a mask of the bits that belong to the name.
        let first, second: (word: UInt64, mask: UInt64)
        let count: Int32
        /// The offset in `rests` of the bytes beyond the first sixteen.
        let rest: Int32
        let kinds: UInt8
    }

    private let names: UniqueArray<Name>
    private let rests: ByteBuffer
    /// Bit masks of all members and of the required ones.
    private let all, required: UInt64

    package var count: Int { names.count }

    /// Nil if a name needs escapes or there are more than 64 members.
    package init?(_ members: [KnownMember]) {
        guard members.count <= 64, !members.contains(where: { $0.name.forms.hasEscapes }) else { return nil }
        var rests = ByteBuffer(capacity: 64)
        var names = UniqueArray<Name>(capacity: members.count)
        var required: UInt64 = 0
        for (index, member) in members.enumerated() {
            let utf8 = member.name.utf8
            names.append(
                Name(
                    first: Self.word(of: utf8, from: 0), second: Self.word(of: utf8, from: 8), count: Int32(utf8.count),
                    rest: Int32(rests.count), kinds: member.kinds))
            rests.append(Array(utf8.dropFirst(16)))
            if member.isRequired { required |= 1 << UInt64(index) }
        }
        self.names = names
        self.rests = rests
        self.required = required
        all = members.isEmpty ? 0 : .max &>> UInt64(64 - members.count)
    }

    private static func word(of utf8: [UInt8], from start: Int) -> (word: UInt64, mask: UInt64) {
        let bytes = (utf8 + [UInt8(ascii: "\"")]).dropFirst(start).prefix(8)
        return (bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }, bytes.isEmpty ? 0 : .max >> UInt64(64 - 8 * bytes.count))
    }

    /// Whether the text behind the quote at `offset` is this member's name.
    @inline(__always)
    private func stands(_ index: Int, _ text: RawSpan, at offset: Int) -> Bool {
        let word = text.loadOrZeros(UInt64.self, at: offset &+ 1)
        if (word ^ names[index].first.word) & names[index].first.mask != 0 { return false }
        return names[index].count < 8 || continues(index, text, at: offset)
    }

    @inline(__always)
    private func continues(_ index: Int, _ text: RawSpan, at offset: Int) -> Bool {
        let word = text.loadOrZeros(UInt64.self, at: offset &+ 9)
        if (word ^ names[index].second.word) & names[index].second.mask != 0 { return false }
        return names[index].count < 16 || ends(index, text, at: offset)
    }

    private func allows(_ kind: JSONKind, _ index: Int) -> Bool { names[index].kinds &>> kind.rawValue & 1 != 0 }

    /// The index of the member whose name is behind the quote at `offset`; tries `expected` first.
    @inline(__always)
    func index(of text: RawSpan, at offset: Int, from expected: Int) -> Int? {
        if expected < names.count, stands(expected, text, at: offset) { return expected }
        let index = search(text, at: offset)
        return index < 0 ? nil : index
    }

    @inline(never)
    private func ends(_ index: Int, _ text: RawSpan, at offset: Int) -> Bool {
        let end = offset &+ 1 &+ Int(names[index].count)
        guard end < text.byteCount, text.byte(at: end) == UInt8(ascii: "\"") else { return false }
        return rests.holds(text.slice(offset &+ 17, end &- offset &- 17), at: Int(names[index].rest))
    }

    /// The index of the member whose name is behind the quote at `offset`; -1 if there is none.
    @inline(never)
    private func search(_ text: RawSpan, at offset: Int) -> Int {
        for index in 0 ..< names.count where stands(index, text, at: offset) { return index }
        return -1
    }

    /// Finds the members of the object that begins at `start`. Stores member i in `slots[base + i]` and appends the slots to `order` in the
    /// text's order, behind those of earlier objects.
    ///
    /// - Returns: the offset behind the object. Nil if it has an unknown member, a duplicate, a value of another kind, lacks a required
    ///   member, or is malformed.
    package func scan(
        _ arena: borrowing ByteBuffer, at start: Int, base: Int, into slots: inout UniqueArray<ValueSlot>, order: inout MemberOrder
    ) -> Int? {
        let text = arena.bytes
        var walk = JSONWalker(text, at: start &+ 1)
        var byte = walk.skipSpaces()
        var seen: UInt64 = 0
        if byte == UInt8(ascii: "}") { return close(seen, at: walk.offset, base: base, &slots) }
        if byte != UInt8(ascii: "\"") { return nil }
        while true {
            // A quote is at the offset.
            var index = order.expected &- base
            if UInt(bitPattern: index) < UInt(bitPattern: names.count), stands(index, text, at: walk.offset) {
                order.appendExpected(base &+ index)
            } else {
                index = search(text, at: walk.offset)
                if index < 0 { return nil }
                order.append(base &+ index)
            }
            if seen &>> UInt64(truncatingIfNeeded: index) & 1 != 0 { return nil }
            seen |= 1 &<< UInt64(truncatingIfNeeded: index)
            let nameStart = walk.offset
            walk.offset &+= Int(names[index].count) &+ 2
            let nameEnd = walk.offset
            var slot: ValueSlot
            if text.loadOrZeros(UInt16.self, at: nameEnd) == BytePair.colonAndQuote {
                walk.offset &+= 1
                slot = ValueSlot(name: nameStart, nameEnd, value: walk.offset)
                slot.hasEscapes = walk.skipString()
                slot.kind = .string
            } else {
                walk.skipColon()
                slot = ValueSlot(name: nameStart, nameEnd, value: walk.offset)
                let value = walk.skipValue()
                (slot.kind, slot.hasEscapes) = (value.kind, value.hasEscapes)
            }
            if !allows(slot.kind, index) { return nil }
            slot.end = Int32(truncatingIfNeeded: walk.offset)
            slots[base &+ index] = slot
            if text.loadOrZeros(UInt16.self, at: walk.offset) == BytePair.commaAndQuote {
                walk.offset &+= 1
                continue
            }
            byte = walk.skipSpaces()
            if byte == UInt8(ascii: "}") { return close(seen, at: walk.offset, base: base, &slots) }
            guard byte == UInt8(ascii: ",") else { return nil }
            walk.offset &+= 1
            if walk.skipSpaces() != UInt8(ascii: "\"") { return nil }
        }
    }

    /// The offset behind the object that ends here, or nil if a required member is missing. Clears the slots of members that are absent.
    @inline(__always)
    private func close(_ seen: UInt64, at offset: Int, base: Int, _ slots: inout UniqueArray<ValueSlot>) -> Int? {
        if seen != all {
            if seen & required != required { return nil }
            clear(seen, base: base, &slots)
        }
        return offset &+ 1
    }

    @inline(never)
    private func clear(_ seen: UInt64, base: Int, _ slots: inout UniqueArray<ValueSlot>) {
        var rest = all & ~seen
        while rest != 0 {
            slots[base &+ rest.trailingZeroBitCount] = ValueSlot(kind: .null)
            rest &= rest &- 1
        }
    }

    /// Clears the slots of all members, as if the object were absent.
    package func clear(base: Int, _ slots: inout UniqueArray<ValueSlot>) { clear(0, base: base, &slots) }
}

extension ByteBuffer {
    fileprivate borrowing func holds(_ text: RawSpan, at start: Int) -> Bool { slice(start, text.byteCount).equals(text) }
}

/// The location of a value: in the text, or among the values that were made.
package struct ValueSlot: BitwiseCopyable, Sendable {
    /// The name's literal, including its quotes.
    package var nameStart: Int32 = -1
    package var nameEnd: Int32 = -1
    /// The range of the value's text; `start` is negative if there is no value.
    package var start: Int32 = -1
    package var end: Int32 = -1
    package var kind: JSONKind
    package var hasEscapes = false
    /// Whether the text is in the buffer of made values, not in the input.
    package var isMade = false
    /// Whether the text is a string's content without quotes.
    package var isBare = false

    /// Whether only a colon separates the value from its name.
    package var isCompact: Bool { start == nameEnd &+ 1 }

    package init(kind: JSONKind) { self.kind = kind }

    /// A value that a walker has stepped over.
    @inline(__always)
    package init(_ extent: JSONExtent) {
        self.init(kind: extent.kind, from: extent.start, to: extent.end)
        hasEscapes = extent.hasEscapes
    }

    /// A value at a range of a text.
    package init(kind: JSONKind, from start: Int, to end: Int) {
        self.kind = kind
        (self.start, self.end) = (Int32(truncatingIfNeeded: start), Int32(truncatingIfNeeded: end))
    }

    @inline(__always)
    init(name nameStart: Int, _ nameEnd: Int, value start: Int) {
        self.nameStart = Int32(truncatingIfNeeded: nameStart)
        self.nameEnd = Int32(truncatingIfNeeded: nameEnd)
        self.start = Int32(truncatingIfNeeded: start)
        kind = .null
    }
}

/// Finds members and validates the text in one pass, so that a valid untrusted text is read only once.
extension KnownMembers {
    /// Finds the members of the object in the arena that `takeText` filled; member i is stored in `slots[i]`.
    ///
    /// - Returns: true if `JSONScanner.validate` would accept the text within the limits and `scan` would accept the object. False means
    ///   that the text must be checked the slow way; it may still be valid.
    package func scanStrictly(_ arena: borrowing ByteBuffer, limits: JSONLimits, into slots: inout UniqueArray<ValueSlot>) -> Bool {
        guard arena.count - textEndBytes <= limits.bytes, limits.depth >= 1 else { return false }
        let text = arena.bytes
        var walk = JSONWalker(text)
        walk.skipSpaces()
        guard walk.enterObject() else { return false }
        do { return try scanStrictly(text, at: walk.offset, limits, into: &slots).map { isEnd(of: arena, at: $0) } ?? false } catch {
            return false
        }
    }

    /// The offset behind the object whose content begins at `start`; nil if this pass can't accept the object.
    private func scanStrictly(
        _ text: RawSpan, at start: Int, _ limits: JSONLimits, into slots: inout UniqueArray<ValueSlot>
    ) throws(JSONError) -> Int? {
        var limits = limits
        var walk = JSONWalker(text, at: start)
        var byte = walk.skipSpaces()
        var (expected, seen): (Int, UInt64) = (0, 0)
        while byte == UInt8(ascii: "\"") {
            guard let index = index(of: text, at: walk.offset, from: expected), seen &>> UInt64(index) & 1 == 0, limits.members > 0 else {
                return nil
            }
            expected = index &+ 1
            seen |= 1 &<< UInt64(index)
            limits.members &-= 1
            var slot = ValueSlot(kind: .null)
            slot.nameStart = Int32(truncatingIfNeeded: walk.offset)
            walk.offset &+= Int(names[index].count) &+ 2
            slot.nameEnd = Int32(truncatingIfNeeded: walk.offset)
            guard let kind = JSONKind(firstByte: walk.skipColon()), allows(kind, index) else { return nil }
            slot.kind = kind
            slot.start = Int32(truncatingIfNeeded: walk.offset)
            if let end = endOfPlain(text, kind, at: walk.offset) {
                walk.offset = end
            } else {
                slot.hasEscapes = kind == .string
                walk.offset = try endOfAny(text, at: walk.offset, &limits)
            }
            slot.end = Int32(truncatingIfNeeded: walk.offset)
            slots[index] = slot
            byte = walk.skipSpaces()
            if byte == UInt8(ascii: "}") { break }
            guard byte == UInt8(ascii: ",") else { return nil }
            walk.offset &+= 1
            byte = walk.skipSpaces()
            // A comma may not precede the closing brace.
            guard byte == UInt8(ascii: "\"") else { return nil }
        }
        return byte == UInt8(ascii: "}") && seen & required == required ? walk.offset &+ 1 : nil
    }
}

/// The offset behind any valid value. Subtracts the members of the value from the limit.
@inline(never)
private func endOfAny(_ text: RawSpan, at start: Int, _ limits: inout JSONLimits) throws(JSONError) -> Int {
    var validator = JSONValidator(text.slice(0, text.byteCount &- textEndBytes), limits, NullRecorder())
    validator.offset = start
    _ = try validator.value(depth: 1)
    limits.members &-= validator.members
    return validator.offset
}

/// The offset behind a valid value of the given kind. Nil for values that this fast path does not handle: containers, strings with
/// non-ASCII bytes or escapes, numbers with exponents, and anything invalid.
@inline(__always)
private func endOfPlain(_ text: RawSpan, _ kind: JSONKind, at start: Int) -> Int? {
    switch kind {
    case .string: endOfPlainString(text, at: start)
    case .number: endOfPlainNumber(text, at: start)
    case .object, .array: nil
    case .true: text.loadOrZeros(UInt32.self, at: start) == Literal.true ? start &+ 4 : nil
    case .null: text.loadOrZeros(UInt32.self, at: start) == Literal.null ? start &+ 4 : nil
    case .false:
        text.loadOrZeros(UInt32.self, at: start) == Literal.fals && text.peek(at: start &+ 4) == UInt8(ascii: "e") ? start &+ 5 : nil
    }
}

@inline(__always)
private func endOfPlainString(_ text: RawSpan, at start: Int) -> Int? {
    var offset = start &+ 1
    while true {
        let plain = asciiCount(text.sixteenOrZeros(at: offset))
        offset &+= plain
        if plain < 16 { return text.peek(at: offset) == UInt8(ascii: "\"") ? offset &+ 1 : nil }
    }
}

@inline(__always)
private func endOfPlainNumber(_ text: RawSpan, at start: Int) -> Int? {
    let first = text.peek(at: start) == UInt8(ascii: "-") ? start &+ 1 : start
    var end = endOfDigits(text, at: first)
    guard end > first, end == first &+ 1 || text.peek(at: first) != UInt8(ascii: "0") else { return nil }
    if text.peek(at: end) == UInt8(ascii: ".") {
        let fraction = end &+ 1
        end = endOfDigits(text, at: fraction)
        if end == fraction { return nil }
    }
    return text.peek(at: end) | 0x20 == UInt8(ascii: "e") ? nil : end
}

@inline(__always)
private func endOfDigits(_ text: RawSpan, at start: Int) -> Int {
    var offset = start
    while true {
        let digits = digitCount(text.sixteenOrZeros(at: offset))
        offset &+= digits
        if digits < 16 { return offset }
    }
}

/// The order of a text's members, and that of the previous text. They are mostly equal, so that one comparison usually finds a member.
package struct MemberOrder: ~Copyable {
    /// The slots of the members, in the order of the text.
    package private(set) var slots = UniqueArray<Int32>(capacity: 32)
    private var before = UniqueArray<Int32>(capacity: 32)
    /// The index in `before` of the slot that is expected next.
    private var next = 0

    package init() {}

    package mutating func begin() {
        swap(&slots, &before)
        slots.removeAll()
        next = 0
    }

    /// The slot that the previous text had at this index; -1 if there is none.
    @inline(__always)
    var expected: Int { next < before.count ? Int(before[next]) : -1 }

    /// Appends the slot that was expected.
    @inline(__always)
    mutating func appendExpected(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        next &+= 1
    }

    /// Appends another slot than expected: the expected member is missing now, or this one was missing before.
    mutating func append(_ slot: Int) {
        slots.append(Int32(truncatingIfNeeded: slot))
        if next &+ 1 < before.count, Int(before[next &+ 1]) == slot { next &+= 2 }
    }
}
