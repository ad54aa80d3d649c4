internal import Bytes

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
            return try sameMembers(left.rest, right.rest)
        }
        return try same(left.skipValue(), in: left.text, right.skipValue(), in: right.text)
    }

    /// An object with more members is compared by its canonical form instead of searching for each name.
    private static let membersMax = 64

    private static func same(
        _ left: JSONExtent, in leftText: RawSpan, _ right: JSONExtent, in rightText: RawSpan
    ) throws(JSONError) -> Bool {
        guard left.end <= leftText.byteCount, right.end <= rightText.byteCount else { return try canonically(leftText, rightText) }
        let (leftValue, rightValue) = (leftText.slice(left.start, left.count), rightText.slice(right.start, right.count))
        if left.kind == right.kind, leftValue.equals(rightValue) { return true }
        switch (left.kind, right.kind) {
        case (.object, .object): return try sameMembers(leftValue, rightValue)
        case (.array, .array): return try sameElements(leftValue, rightValue)
        case (.string, .string) where !left.hasEscapes && !right.hasEscapes: return false
        case (.string, .string), (.number, .number): return try canonically(leftValue, rightValue)
        default: return false
        }
    }

    private static func canonically(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        try Canonical.bytes(of: left) == Canonical.bytes(of: right)
    }

    private static func sameElements(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        var (own, other) = (JSONWalker(left), JSONWalker(right))
        guard own.enterArray(), other.enterArray() else { return try canonically(left, right) }
        while own.nextElement() {
            guard other.nextElement() else { return false }
            if try !same(own.skipValue(), in: left, other.skipValue(), in: right) { return false }
        }
        return !other.nextElement()
    }

    private struct Member {
        let name: JSONName
        let value: JSONExtent
    }

    private static func sameMembers(_ left: RawSpan, _ right: RawSpan) throws(JSONError) -> Bool {
        guard let own = members(of: left), let other = members(of: right) else { return try canonically(left, right) }
        guard own.count == other.count else { return false }
        for (index, member) in own.enumerated() {
            // Most members are at the same index in both objects.
            var found = isNamed(other[index], in: right, as: member, in: left) ? index : 0
            while found < other.count, !isNamed(other[found], in: right, as: member, in: left) { found += 1 }
            guard found < other.count, try same(member.value, in: left, other[found].value, in: right) else { return false }
        }
        return true
    }

    private static func isNamed(_ member: Member, in text: RawSpan, as other: Member, in otherText: RawSpan) -> Bool {
        let (name, otherName) = (member.name, other.name)
        return text.slice(name.start, name.end - name.start).equals(otherText.slice(otherName.start, otherName.end - otherName.start))
    }

    /// Nil if the object has too many members, if a name has escapes, or if the text is malformed.
    private static func members(of object: RawSpan) -> [Member]? {
        var walk = JSONWalker(object)
        guard walk.enterObject() else { return nil }
        var members: [Member] = []
        members.reserveCapacity(16)
        while let name = walk.nextName() {
            if name.hasEscapes || members.count == membersMax { return nil }
            members.append(Member(name: name, value: walk.skipValue()))
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
