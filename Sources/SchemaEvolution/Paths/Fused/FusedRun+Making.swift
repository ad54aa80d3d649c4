internal import Bytes
internal import JSONText

// Functions and not methods: what is lent by a field of a value is lent by the whole value.

/// Whether a string has no escapes, or a value is none.
func isPlain(_ slot: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> Bool {
    let found = input.slots[slot]
    if found.kind != .string || found.isBare { return true }
    if !found.isMade { return !found.hasEscapes }
    let text = text(slot, input, made)
    for offset in 0 ..< text.byteCount where text.byte(at: offset) == UInt8(ascii: "\\") { return false }
    return true
}

/// Appends what a converter makes of a value; whether that was in the codec's own form, nil where it is refused.
func convert(
    _ slot: Int, _ converter: FusedTools.Converter, _ input: borrowing FusedInput, _ scratch: inout ByteBuffer, into made: inout ByteBuffer
) -> Bool? {
    let found = input.slots[slot]
    if found.isMade {
        scratch.removeAll()
        scratch.append(content(slot, input, made))
    }
    do {
        let isCanonical =
            found.isMade
            ? try converter.run(scratch, found.kind, into: &made) : try converter.run(slot, input, scratch, found.kind, into: &made)
        return isCanonical || !converter.isStrict ? isCanonical : nil
    } catch { return nil }
}

func hasSameContent(_ slot: Int, _ other: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> Bool {
    content(slot, input, made).equals(content(other, input, made))
}

/// Appends texts one after the other.
func concatenate(
    _ list: [FusedTools.Text], _ input: borrowing FusedInput, _ scratch: inout ByteBuffer, into made: inout ByteBuffer
) {
    scratch.removeAll()
    for part in list {
        switch part {
        case .literal(let text): scratch.append(text)
        case .slot(let slot): scratch.append(content(slot, input, made))
        }
    }
    made.append(scratch.bytes)
}

func cut(
    _ slot: Int, _ rule: SeparatedText, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer, into cuts: inout Slots<Cut>
) -> Bool {
    rule.cut(content(slot, input, made), into: &cuts)
}

func select(_ slot: Int, _ values: [[UInt8]], _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> Int? {
    let found = content(slot, input, made)
    for index in values.indices {
        let value = values[index]
        if value.lent.equals(found) { return index }
    }
    return nil
}

/// Whether a value, whose kind is the constant's, means the same as that; a string has no escapes, here and there.
func means(
    _ slot: Int, _ canonical: [UInt8], _ input: borrowing FusedInput, _ made: borrowing ByteBuffer, _ scratch: inout ByteBuffer
) -> Bool {
    let kind = input.slots[slot].kind
    if kind == .string { return content(slot, input, made).equals(canonical.lent.slice(1, canonical.count - 2)) }
    let found = text(slot, input, made)
    if found.equals(canonical.lent) { return true }
    if kind == .true || kind == .false { return false }
    scratch.removeAll()
    do { try Canonical.write(found, into: &scratch) } catch { return false }
    return scratch.bytes.equals(canonical.lent)
}

func means(_ slot: Int, _ other: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> Bool {
    if input.slots[slot].kind != input.slots[other].kind { return false }
    let (one, two) = (text(slot, input, made), text(other, input, made))
    if one.equals(two) { return true }
    do { return try Canonical.bytes(of: one) == Canonical.bytes(of: two) } catch { return false }
}

func fits(_ slot: Int, _ shape: EventShape, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> Bool {
    do { try shape.validate(text(slot, input, made)) } catch { return false }
    return true
}

extension FusedTools.Converter {
    fileprivate func run(
        _ slot: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer, _ kind: JSONKind, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        switch direction {
        case .up: try codec.up(content(slot, input, made), kind, into: &output)
        case .down: try codec.down(content(slot, input, made), kind, into: &output)
        }
    }

    fileprivate func run(
        _ content: borrowing ByteBuffer, _ kind: JSONKind, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        switch direction {
        case .up: try codec.up(content.bytes, kind, into: &output)
        case .down: try codec.down(content.bytes, kind, into: &output)
        }
    }
}
