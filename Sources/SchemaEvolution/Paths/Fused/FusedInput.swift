internal import Bytes
internal import JSONText

/// The values that a scan found and those that were made from them: everything that a program reads.
struct FusedInput: ~Copyable {
    private(set) var text = ByteBuffer(capacity: 4096)
    var slots = UniqueArray<ValueSlot>(capacity: 64)
    var made = ByteBuffer(capacity: 1024)
    var scratch = ByteBuffer(capacity: 256)
    var slices = UniqueArray<TextPart>(capacity: 8)
    /// The slots of the members that were found, object by object, in the order of the text.
    private(set) var order = MemberOrder()
    /// The end of each object's members in `order`.
    private var ends = UniqueArray<Int32>(capacity: 8)

    /// Fills the slots. Returns false if the payload has members that its shape does not declare, or if it is malformed.
    mutating func scan(_ payload: RawSpan, for program: FusedProgram) -> Bool {
        guard let start = takeText(payload, into: &text), text.bytes.byte(at: start) == UInt8(ascii: "{"),
            let end = scanObjects(at: start, in: nil, for: program)
        else { return false }
        return end >= 0 && isEnd(of: text, at: end)
    }

    /// Fills the slots of the members of all objects of the value that begins at an offset. Returns the offset behind that value if it is an
    /// object, or else -1; nil if an object has members that its shape does not declare, or is malformed.
    /// - Parameter whole: the slot of the value; nil for a payload.
    @inline(__always)
    private mutating func scanObjects(at start: Int, in whole: Int?, for program: FusedProgram) -> Int? {
        begin(program)
        var last = -1
        for index in 0 ..< program.objects.count {
            let (slot, base) = (program.objects[index].slot, program.objects[index].base)
            var begin = -1
            if slot == whole {
                if text.bytes.byte(at: start) == UInt8(ascii: "{") { begin = start }
            } else if let slot, case .object = slots[slot].kind {
                begin = Int(slots[slot].start)
            }
            if begin >= 0 {
                guard let end = program.objects[index].members.scan(text, at: begin, base: base, into: &slots, order: &order) else {
                    return nil
                }
                if begin == start { last = end }
            } else {
                program.objects[index].members.clear(base: base, &slots)
            }
            ends.append(Int32(truncatingIfNeeded: order.slots.count))
        }
        return last
    }

    private mutating func begin(_ program: FusedProgram) {
        order.begin()
        ends.removeAll()
        made.removeAll()
        if slots.count < program.slotCount { slots.fill(slots.count ..< program.slotCount, with: ValueSlot(kind: .null)) }
    }

    /// Copies the text of a list or map. Returns the offset of its first value; nil if it has none.
    mutating func takeElements(_ list: RawSpan) -> Int? { takeText(list, into: &text) }

    /// Walks over the input from an offset and advances the offset; beyond the end of the text if the text is malformed.
    @inline(__always)
    func step<Result>(_ offset: inout Int, _ step: (inout JSONWalker) -> Result) -> Result {
        var walk = JSONWalker(text.bytes, at: offset)
        let result = step(&walk)
        offset = walk.offset
        return result
    }

    /// Fills the slots for the element that begins at an offset. Returns the offset of its end; nil if it has members that its shape does
    /// not declare, or is malformed.
    mutating func scanElement(at start: Int, for program: FusedProgram) -> Int? {
        guard let end = scanObjects(at: start, in: FusedProgram.elementSlot, for: program) else { return nil }
        var element = ValueSlot(kind: .object, from: start, to: end)
        if end < 0 {
            var walk = JSONWalker(text.bytes, at: start)
            element = ValueSlot(walk.skipValue())
            if walk.isMalformed { return nil }
        }
        guard program.kinds >> element.kind.rawValue & 1 != 0 else { return nil }
        slots[FusedProgram.elementSlot] = element
        return Int(element.end)
    }

    /// Appends the made texts to the input, in which nothing is searched any more. Returns their offset.
    mutating func takeMade() -> Int32 { text.take(made) }

    /// Appends another text to the input. Returns its offset.
    mutating func take(_ more: borrowing ByteBuffer) -> Int32 { text.take(more) }

    /// Appends the content of a slot as a string to the input. `behind` is the offset at which `takeMade` has appended the made texts.
    mutating func quote(_ slot: Int, made behind: Int32) -> ByteSlice {
        let found = slots[slot]
        let (begin, start, count) = (text.count, Int(found.start), Int(found.end &- found.start))
        if found.hasEscapes {
            var quoted = ByteBuffer(capacity: count + 16)
            appendQuoted(slot, to: &quoted)
            text.append(quoted.bytes)
        } else {
            text.append(UInt8(ascii: "\""))
            text.append(copyOf: found.isMade ? Int(behind) &+ start : start, count)
            text.append(UInt8(ascii: "\""))
        }
        return ByteSlice(offset: Int32(truncatingIfNeeded: begin), count: Int32(truncatingIfNeeded: text.count &- begin))
    }

    /// The indices in `order` of the slots of an object's members.
    @inline(__always)
    func members(of object: Int) -> Range<Int> { (object == 0 ? 0 : Int(ends[object - 1])) ..< Int(ends[object]) }

    @_lifetime(borrow self)
    @inline(__always)
    func text(_ slot: Int) -> RawSpan {
        let found = slots[slot]
        let (start, count) = (Int(found.start), Int(found.end &- found.start))
        if found.isMade { return made.slice(start, count) }
        return text.slice(start, count)
    }

    /// The content of the value in a slot: the inside of a string, the text of other values.
    @_lifetime(borrow self)
    @inline(__always)
    func content(_ slot: Int) -> RawSpan {
        let found = slots[slot]
        let place = found.content
        if found.isMade { return made.slice(place.start, place.count) }
        return text.slice(place.start, place.count)
    }
}

extension ByteBuffer {
    fileprivate mutating func take(_ more: borrowing ByteBuffer) -> Int32 {
        let start = Int32(truncatingIfNeeded: count)
        append(more.bytes)
        return start
    }
}

extension ValueSlot {
    /// The range of a value's content in its buffer.
    @inline(__always)
    var content: (start: Int, count: Int) {
        var quotes: Int32 = 0
        if case .string = kind, !isBare { quotes = 1 }
        return (Int(start &+ quotes), Int(end &- start &- 2 &* quotes))
    }

    /// A value whose text was made.
    init(made kind: JSONKind, _ start: Int, _ end: Int) {
        self.init(kind: kind)
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
        isMade = true
    }
}

extension FusedInput {
    /// The index of a text among the given values; nil if it is not one of them.
    func select(_ slot: Int, _ values: borrowing [[UInt8]]) -> Int? {
        for index in values.indices {
            let value = values[index]
            if content(slot).equals(value.lent) { return index }
        }
        return nil
    }

    func means(_ slot: Int, sameAs other: Int) -> Bool {
        guard slots[slot].kind.rawValue == slots[other].kind.rawValue else { return false }
        do { return try JSONEquality.same(text(slot), text(other)) } catch { return false }
    }

    /// Whether a value is absent or fits a shape.
    func fits(_ slot: Int, _ shape: EventShape) -> Bool {
        if slots[slot].start < 0 { return true }
        do { try shape.validate(text(slot)) } catch { return false }
        return true
    }
}

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
    borrowing func split(
        _ source: borrowing ByteBuffer, _ start: Int, _ count: Int, into slices: inout UniqueArray<TextPart>
    ) -> Bool {
        split(source.slice(start, count), into: &slices)
    }
}

extension FusedConverter {
    fileprivate borrowing func run(
        _ source: borrowing ByteBuffer, _ start: Int, _ count: Int, _ kind: JSONKind, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        try codec.recode(source.slice(start, count), kind, direction, into: &output)
    }
}
