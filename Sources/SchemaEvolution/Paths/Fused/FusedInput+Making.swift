internal import Bytes
internal import JSONText

extension FusedInput {
    /// Converts a value into slot `target`. Returns whether the value was in the codec's canonical form; nil if the codec refuses it.
    mutating func convert(_ slot: Int, to target: Int, _ converter: borrowing FusedConverter) -> Bool? {
        let found = slots[slot]
        if case .null = found.kind {
            slots[target] = found
            return true
        }
        let place = found.content
        let start = made.count
        let isCanonical: Bool
        do {
            if found.isMade {
                scratch.removeAll()
                scratch.append(place.start, place.count, of: made)
                isCanonical = try converter.run(scratch, 0, place.count, found.kind, into: &made)
            } else {
                isCanonical = try converter.run(text, place.start, place.count, found.kind, into: &made)
            }
        } catch { return nil }
        guard isCanonical || !converter.isStrict, made.count > start, let kind = JSONKind(firstByte: made.byte(at: start)) else {
            return nil
        }
        slots[target] = ValueSlot(made: kind, start, made.count)
        return isCanonical
    }

    /// Concatenates several texts into slot `target`.
    mutating func concatenate(_ list: borrowing [ConstantPool.Text], to target: Int) {
        scratch.removeAll()
        var hasEscapes = false
        for index in list.indices {
            switch list[index] {
            case .literal(let text):
                scratch.append(text)
                hasEscapes = hasEscapes || !isPlain(text.lent)
            case .slot(let slot):
                let found = slots[slot]
                let place = found.content
                hasEscapes = hasEscapes || found.hasEscapes
                if found.isMade {
                    scratch.append(place.start, place.count, of: made)
                } else {
                    scratch.append(place.start, place.count, of: text)
                }
            case .number(let slot):
                let found = slots[slot]
                let place = found.content
                if found.isMade {
                    scratch.append(number: place.start, place.count, of: made)
                } else {
                    scratch.append(number: place.start, place.count, of: text)
                }
            }
        }
        let start = made.count
        made.append(0, scratch.count, of: scratch)
        slots[target] = ValueSlot(made: .string, start, made.count)
        slots[target].isBare = true
        slots[target].hasEscapes = hasEscapes
    }

    /// Takes the content of a value into slot `target`. That slot must not be written as JSON text, unless it is null or absent.
    mutating func takeContent(_ slot: Int, to target: Int) {
        var found = slots[slot]
        if case .string = found.kind, !found.isBare {
            found.start &+= 1
            found.end &-= 1
            found.isBare = true
            if found.isMade { found.hasEscapes = hasBackslash(made.slice(Int(found.start), Int(found.end &- found.start))) }
            if found.hasEscapes { return unescape(found, to: target) }
        }
        slots[target] = found
    }

    @inline(never)
    private mutating func unescape(_ slot: ValueSlot, to target: Int) {
        let (start, count) = (Int(slot.start), Int(slot.end &- slot.start))
        let begin = made.count
        if slot.isMade {
            scratch.removeAll()
            scratch.append(start, count, of: made)
            scratch.unescape(into: &made)
        } else {
            text.unescape(start, count, into: &made)
        }
        slots[target] = ValueSlot(made: .string, begin, made.count)
        (slots[target].isBare, slots[target].hasEscapes) = (true, true)
    }

    /// Copies text that was made elsewhere.
    mutating func take(made text: borrowing ByteBuffer, _ kind: JSONKind) -> ValueSlot {
        let start = made.count
        made.append(text.bytes)
        return ValueSlot(made: kind, start, made.count)
    }

    /// Appends the content of a slot as a string literal.
    func appendQuoted(_ slot: Int, to output: inout ByteBuffer) {
        output.append(UInt8(ascii: "\""))
        if slots[slot].hasEscapes { appendEscaped(content(slot), into: &output) } else { output.append(content(slot)) }
        output.append(UInt8(ascii: "\""))
    }

    /// Takes a value that the event carries beside its payload into slot `target`. Returns false if there is none.
    mutating func takeBeside(_ source: Source, to target: Int, _ run: inout OpRun) -> Bool {
        guard source.writeBeside(&run) else { return false }
        let start = made.count
        made.append(run.output.bytes)
        slots[target] = ValueSlot(made: JSONKind(firstByte: made.byte(at: start)) ?? .null, start, made.count)
        return true
    }

    /// Splits a text into the slots from `target` on. Returns the number of parts; nil if there are too few and the rule refuses that.
    mutating func split(_ slot: Int, to target: Int, _ splitter: borrowing TextSplitter) -> Int? {
        let found = slots[slot]
        let place = found.content
        let isSplit =
            found.isMade
            ? splitter.split(made, place.start, place.count, into: &slices) : splitter.split(text, place.start, place.count, into: &slices)
        if !isSplit { return nil }
        for index in 0 ..< slices.count {
            var part = ValueSlot(kind: .string)
            part.start = Int32(truncatingIfNeeded: place.start) &+ slices[index].start
            part.end = part.start &+ slices[index].count
            part.isMade = found.isMade
            part.isBare = true
            part.hasEscapes = found.hasEscapes
            slots[target &+ index] = part
        }
        return slices.count
    }

    /// Takes the first element into slot `target`. Returns the number of further elements; -1 if the list is empty, nil if it is malformed.
    mutating func first(_ slot: Int, to target: Int) -> Int? {
        guard let found = scanElements(text.bytes, at: Int(slots[slot].start)) else { return nil }
        if found.count > 0 { slots[target] = found.first }
        return found.count - 1
    }

    /// Whether a value equals one of several constants in canonical form.
    mutating func means(_ slot: Int, anyOf constants: borrowing [[UInt8]]) -> Bool {
        for index in constants.indices where means(slot, constants[index]) { return true }
        return false
    }

    private mutating func means(_ slot: Int, _ canonical: borrowing [UInt8]) -> Bool {
        let found = slots[slot]
        guard let kind = JSONKind(firstByte: canonical[0]), kind == found.kind else { return false }
        if found.isBare {
            if found.hasEscapes || hasBackslash(canonical.lent) {
                scratch.removeAll()
                appendUnescaped(canonical.lent.slice(1, canonical.count - 2), into: &scratch)
                return scratch.bytes.equals(content(slot))
            }
            return content(slot).equals(canonical.lent.slice(1, canonical.count - 2))
        }
        if text(slot).equals(canonical.lent) { return true }
        switch kind {
        case .true, .false, .null: return false
        case .string: if !found.hasEscapes, !found.isMade { return false }
        case .number: if isInteger(text(slot)), isInteger(canonical.lent) { return false }
        case .object, .array: break
        }
        let spelled = [UInt8](copying: text(slot))
        scratch.removeAll()
        do { try Canonical.write(spelled.lent, into: &scratch) } catch { return false }
        return scratch.bytes.equals(canonical.lent)
    }
}

/// Whether a number consists of digits with an optional minus and is not zero. No other spelling of this form denotes an equal number.
private func isInteger(_ text: RawSpan) -> Bool {
    let start = text.byte(at: 0) == UInt8(ascii: "-") ? 1 : 0
    guard text.byteCount > start, text.byte(at: start) != UInt8(ascii: "0") else { return false }
    for offset in start ..< text.byteCount where !isDigit(text.byte(at: offset)) { return false }
    return true
}

// A span borrowed from a field borrows the whole value, so whole buffers are passed instead.

extension ByteBuffer {
    mutating func append(_ start: Int, _ count: Int, of source: borrowing ByteBuffer) { append(source.slice(start, count)) }

    fileprivate mutating func append(number start: Int, _ count: Int, of source: borrowing ByteBuffer) {
        appendCanonical(number: source.slice(start, count), into: &self)
    }

    fileprivate borrowing func unescape(_ start: Int = 0, _ count: Int? = nil, into output: inout ByteBuffer) {
        appendUnescaped(slice(start, count ?? self.count), into: &output)
    }
}

extension TextSplitter {
    fileprivate borrowing func split(
        _ source: borrowing ByteBuffer, _ start: Int, _ count: Int, into slices: inout UniqueArray<TextPart>
    ) -> Bool {
        split(source.slice(start, count), into: &slices)
    }
}

extension FusedConverter {
    fileprivate borrowing func run(
        _ source: borrowing ByteBuffer, _ start: Int, _ count: Int, _ kind: JSONKind, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        switch direction {
        case .up: try codec.up(source.slice(start, count), kind, into: &output)
        case .down: try codec.down(source.slice(start, count), kind, into: &output)
        }
    }
}
