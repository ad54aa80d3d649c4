package import Bytes

/// The canonical form of a JSON value, over which digests and comparisons are computed: RFC 8785.
///
/// - Members are sorted by the UTF-16 code units of their names; strings have the fewest escapes; there are no spaces.
/// - Numbers are laid out as ECMAScript does, so `1.0`, `1` and `1e0` all become `1`. The form deviates from RFC 8785 on purpose in one
///   point: it keeps the exact digits of the text, where RFC 8785 rounds to the nearest double. Both agree on every number that was printed
///   from a double, every integer up to 2^53 and every decimal of at most 15 digits; a longer number keeps its digits instead of becoming
///   another number.
package enum Canonical {
    /// Appends the canonical form of any text that `JSONScanner.validate` accepts; applies no limit on size. O(n log m) for objects of at
    /// most m members, however deep they are nested.
    package static func write(_ text: RawSpan, into output: inout ByteBuffer) throws(JSONError) {
        let record = try TapeRecord.of(text, .none)
        var scratch = ByteBuffer()
        write(0, of: record.nodes, in: text, &scratch, into: &output)
    }

    package static func bytes(of text: RawSpan) throws(JSONError) -> [UInt8] {
        var output = ByteBuffer(capacity: text.byteCount)
        try write(text, into: &output)
        return output.array()
    }

    private static func write(
        _ index: Int, of nodes: borrowing UniqueArray<JSONNode>, in text: RawSpan, _ scratch: inout ByteBuffer,
        into output: inout ByteBuffer
    ) {
        let node = nodes[index]
        let value = node.content(in: text)
        switch node.kind {
        case .null, .true, .false: output.append(value)
        case .number: appendCanonical(number: value, into: &output)
        case .string:
            scratch.removeAll()
            appendUnescaped(value, into: &scratch)
            appendQuoted(scratch.bytes, into: &output)
        case .array:
            output.append(UInt8(ascii: "["))
            var child = index + 1
            while child < node.next {
                if child > index + 1 { output.append(UInt8(ascii: ",")) }
                write(child, of: nodes, in: text, &scratch, into: &output)
                child = Int(nodes[child].next)
            }
            output.append(UInt8(ascii: "]"))
        case .object:
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for (name, member) in sortedMembers(of: index, in: nodes, text) {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                appendQuoted(name.lent, into: &output)
                output.append(UInt8(ascii: ":"))
                write(member, of: nodes, in: text, &scratch, into: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func sortedMembers(
        of object: Int, in nodes: borrowing UniqueArray<JSONNode>, _ text: RawSpan
    ) -> [(name: [UInt8], value: Int)] {
        var members: [(name: [UInt8], value: Int)] = []
        var name = ByteBuffer(capacity: 64)
        var child = object + 1
        while child < nodes[object].next {
            name.removeAll()
            appendUnescaped(nodes[child].content(in: text), into: &name)
            members.append((name.array(), child + 1))
            child = Int(nodes[child + 1].next)
        }
        members.sort { precedes($0.name, $1.name) }
        return members
    }

    /// Whether the UTF-16 code units of `left` sort before those of `right`. UTF-8 sorts by scalars; UTF-16 differs only in that scalars
    /// beyond U+FFFF (lead bytes F0 to F4) sort before U+E000 to U+FFFF (lead bytes EE and EF).
    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        for index in 0 ..< min(left.count, right.count) where left[index] != right[index] {
            let (a, b) = (left[index], right[index])
            if a >= 0xEE, b >= 0xEE, (a >= 0xF0) != (b >= 0xF0) { return a >= 0xF0 }
            return a < b
        }
        return left.count < right.count
    }
}

/// Compares JSON texts by the values that they denote.
package enum JSONEquality {
    /// Whether both texts have the same canonical form: spelling, spaces and the order of members do not count. The texts should be valid.
    ///
    /// Walks over both texts side by side and builds canonical bytes only for values that are spelled differently.
    /// - Throws: `JSONError` if a part that differs is not JSON.
    package static func same(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        if left.equals(right) { return true }
        var (left, right) = (JSONWalker(left), JSONWalker(right))
        // Objects are walked over once, without looking for their ends first.
        if (left.skipSpaces(), right.skipSpaces()) == (UInt8(ascii: "{"), UInt8(ascii: "{")) {
            return try sameMembers(left.rest, right.rest, levels: levelsMax)
        }
        return try same(left.skipValue(), in: left.text, right.skipValue(), in: right.text, levels: levelsMax)
    }

    /// An object with more members is compared by its canonical form instead of searching for each name.
    private static let membersMax = 64
    /// What lies deeper is compared by its canonical form, since each level looks for the ends of all values within it.
    private static let levelsMax = 8

    private static func same(
        _ left: JSONExtent, in leftText: RawSpan, _ right: JSONExtent, in rightText: RawSpan, levels: Int
    ) throws(JSONError) -> Bool {
        guard left.end <= leftText.byteCount, right.end <= rightText.byteCount else { return try canonically(leftText, rightText) }
        let (leftValue, rightValue) = (leftText.slice(left), rightText.slice(right))
        if left.kind == right.kind, leftValue.equals(rightValue) { return true }
        switch (left.kind, right.kind) {
        case (.object, .object) where levels > 0: return try sameMembers(leftValue, rightValue, levels: levels)
        case (.array, .array) where levels > 0: return try sameElements(leftValue, rightValue, levels: levels)
        case (.object, .object), (.array, .array): return try canonically(leftValue, rightValue)
        case (.string, .string) where !left.hasEscapes && !right.hasEscapes: return false
        case (.string, .string), (.number, .number): return try canonically(leftValue, rightValue)
        default: return false
        }
    }

    private static func canonically(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        try Canonical.bytes(of: left) == Canonical.bytes(of: right)
    }

    private static func sameElements(_ left: RawSpan, _ right: RawSpan, levels: Int) throws(JSONError) -> Bool {
        var (own, other) = (JSONWalker(left), JSONWalker(right))
        guard own.enterArray(), other.enterArray() else { return try canonically(left, right) }
        while own.nextElement() {
            guard other.nextElement() else { return false }
            if try !same(own.skipValue(), in: left, other.skipValue(), in: right, levels: levels - 1) { return false }
        }
        return !other.nextElement()
    }

    private typealias Member = (name: JSONExtent, value: JSONExtent)

    private static func sameMembers(_ left: RawSpan, _ right: RawSpan, levels: Int) throws(JSONError) -> Bool {
        guard let own = members(of: left), let other = members(of: right) else { return try canonically(left, right) }
        guard own.count == other.count else { return false }
        for (index, member) in own.enumerated() {
            // Most members are at the same index in both objects.
            var found = isNamed(other[index], in: right, as: member, in: left) ? index : 0
            while found < other.count, !isNamed(other[found], in: right, as: member, in: left) { found += 1 }
            guard found < other.count, try same(member.value, in: left, other[found].value, in: right, levels: levels - 1) else {
                return false
            }
        }
        return true
    }

    private static func isNamed(_ member: Member, in text: RawSpan, as other: Member, in otherText: RawSpan) -> Bool {
        text.slice(member.name).equals(otherText.slice(other.name))
    }

    /// Nil if the object has too many members, if a name has escapes, or if the text is malformed.
    private static func members(of object: RawSpan) -> [Member]? {
        var walk = JSONWalker(object)
        guard walk.enterObject() else { return nil }
        var members: [Member] = []
        members.reserveCapacity(16)
        while let name = walk.nextName() {
            if name.hasEscapes || members.count == membersMax { return nil }
            members.append((name, walk.skipValue()))
        }
        return walk.isMalformed ? nil : members
    }
}

extension JSONWalker {
    fileprivate var rest: RawSpan {
        @_lifetime(copy self)
        get { text.slice(end, text.byteCount - end) }
    }
}

/// An encoding of JSON values whose bytewise order is the order of the values: null (also for absent values), false, true, numbers by
/// value, strings by their UTF-8, then arrays and objects by their canonical text. The order also holds if other bytes follow, provided
/// that the first of them is below ff.
///
///     02  03  04        null, false, true
///     10 …  11  12 …    a number below, equal to or above 0: the power of ten p with |n| = 0.d₁d₂… × 10^p (i16 + 32,768, big-endian), a
///                       byte 1 + 10 d₁ + d₂ for each two digits, 00; below 0 all of it inverted. A power beyond ±32,000 is ffff or, below
///                       0, 0000, and then the ten digits of p or p + 10^10 as five such bytes.
///     13                what is no number; programs before 0.2.0 have written numbers with a power beyond ±32,000 as 13 and their text
///     20 …              a string: a byte 00 as 00 ff, then 00 (as in FoundationDB's tuple layer)
///     21 …              a list or an object: its canonical text in the same form
///
/// So everything that begins with the bytes of a value, followed by another value or a key, sorts before these bytes followed by ff.
package enum OrderedValue {
    private enum Tag {
        static let null: UInt8 = 2
        static let (isFalse, isTrue): (UInt8, UInt8) = (3, 4)
        static let (below, zero, above, beyond): (UInt8, UInt8, UInt8, UInt8) = (0x10, 0x11, 0x12, 0x13)
        static let (string, other): (UInt8, UInt8) = (0x20, 0x21)
    }

    private static let powerMax = 32_000
    /// No text is long enough for a power of ten beyond that.
    private static let powersEnd = 10_000_000_000

    /// Appends the encoding of a valid JSON text without surrounding spaces; an empty text is encoded as null.
    package static func append(_ json: RawSpan, to bytes: inout ByteBuffer) {
        switch json.byteCount > 0 ? json.byte(at: 0) : UInt8(ascii: "n") {
        case UInt8(ascii: "n"): bytes.append(Tag.null)
        case UInt8(ascii: "f"): bytes.append(Tag.isFalse)
        case UInt8(ascii: "t"): bytes.append(Tag.isTrue)
        case UInt8(ascii: "\""):
            bytes.append(Tag.string)
            let literal = json.slice(1, json.byteCount - 2)
            if isPlainString(json) { return append(text: literal, to: &bytes) }
            var text = ByteBuffer(capacity: literal.byteCount)
            appendUnescaped(literal, into: &text)
            append(text: text.bytes, to: &bytes)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            bytes.append(Tag.other)
            append(text: canonical(json).lent, to: &bytes)
        default: append(number: json, to: &bytes)
        }
    }

    /// The offset behind the encoded value that begins at `start`; nil if no value begins there.
    package static func end(of bytes: RawSpan, at start: Int) -> Int? {
        guard start < bytes.byteCount else { return nil }
        let tag = bytes.byte(at: start)
        var offset = start + 1
        switch tag {
        case Tag.null, Tag.isFalse, Tag.isTrue, Tag.zero: return offset
        case Tag.below, Tag.above:
            offset += 2
            let last: UInt8 = tag == Tag.below ? 0xff : 0
            while offset < bytes.byteCount, bytes.byte(at: offset) != last { offset += 1 }
            return offset < bytes.byteCount ? offset + 1 : nil
        case Tag.string, Tag.other:
            while offset < bytes.byteCount {
                if bytes.byte(at: offset) == 0 {
                    if offset + 1 == bytes.byteCount || bytes.byte(at: offset + 1) != 0xff { return offset + 1 }
                    offset += 1
                }
                offset += 1
            }
            return nil
        default: return nil
        }
    }

    private static func canonical(_ json: RawSpan) -> [UInt8] {
        do { return try Canonical.bytes(of: json) } catch { return [UInt8](copying: json) }
    }

    private static func append(text: RawSpan, to bytes: inout ByteBuffer) {
        for offset in 0 ..< text.byteCount {
            bytes.append(text.byte(at: offset))
            if text.byte(at: offset) == 0 { bytes.append(0xff) }
        }
        bytes.append(0)
    }

    /// The bytes with which programs before 0.2.0 have written a number; nil if they have written it as this program does.
    package static func former(_ json: RawSpan) -> [UInt8]? {
        JSONKind(firstByte: json.peek(at: 0)) == .number && NumberText(json).map { abs($0.point) > powerMax } ?? true ? [Tag.beyond] : nil
    }

    private static func append(number json: RawSpan, to bytes: inout ByteBuffer) {
        guard let number = NumberText(json) else { return bytes.append(Tag.beyond) }
        if number.digits.isEmpty { return bytes.append(Tag.zero) }
        bytes.append(number.isNegative ? Tag.below : Tag.above)
        let inverted: UInt8 = number.isNegative ? 0xff : 0
        let isFar = abs(number.point) > powerMax
        let power = isFar ? number.point > 0 ? .max : 0 : UInt16(number.point + 32_768)
        bytes.append(UInt8(power >> 8) ^ inverted)
        bytes.append(UInt8(truncatingIfNeeded: power) ^ inverted)
        if isFar {
            let place = number.point > 0 ? number.point : powersEnd + number.point
            for unit in [100_000_000, 1_000_000, 10_000, 100, 1] { bytes.append(UInt8(1 + place / unit % 100) ^ inverted) }
        }
        for index in stride(from: 0, to: number.digits.count, by: 2) {
            let second = index + 1 < number.digits.count ? number.digits[index + 1] : 0
            bytes.append((1 + 10 * number.digits[index] + second) ^ inverted)
        }
        bytes.append(inverted)
    }
}
