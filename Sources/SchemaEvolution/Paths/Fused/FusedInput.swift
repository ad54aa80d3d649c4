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
        begin(program)
        guard let start = takeText(payload, into: &text), text.bytes.byte(at: start) == UInt8(ascii: "{") else { return false }
        for index in 0 ..< program.objects.count {
            let (slot, base) = (program.objects[index].slot, program.objects[index].base)
            var begin = start
            if let slot {
                begin = -1
                if case .object = slots[slot].kind { begin = Int(slots[slot].start) }
            }
            if begin >= 0 {
                guard let end = program.objects[index].members.scan(text, at: begin, base: base, into: &slots, order: &order) else {
                    return false
                }
                if index == 0, !isEnd(of: text, at: end) { return false }
            } else {
                program.objects[index].members.clear(base: base, &slots)
            }
            ends.append(Int32(truncatingIfNeeded: order.slots.count))
        }
        return true
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
        begin(program)
        var end = -1
        for index in 0 ..< program.objects.count {
            let (slot, base) = (program.objects[index].slot ?? -1, program.objects[index].base)
            var begin = -1
            if slot == FusedProgram.elementSlot {
                if text.bytes.byte(at: start) == UInt8(ascii: "{") { begin = start }
            } else if case .object = slots[slot].kind {
                begin = Int(slots[slot].start)
            }
            if begin >= 0 {
                guard let last = program.objects[index].members.scan(text, at: begin, base: base, into: &slots, order: &order) else {
                    return nil
                }
                if begin == start { end = last }
            } else {
                program.objects[index].members.clear(base: base, &slots)
            }
            ends.append(Int32(truncatingIfNeeded: order.slots.count))
        }
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

    /// The text of a slot.
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
    /// Appends other bytes and returns their offset.
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
