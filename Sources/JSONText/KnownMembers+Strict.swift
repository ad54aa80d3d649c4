package import Bytes

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
            walk.offset &+= nameBytes(index) &+ 2
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
        return byte == UInt8(ascii: "}") && hasRequired(seen) ? walk.offset &+ 1 : nil
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
