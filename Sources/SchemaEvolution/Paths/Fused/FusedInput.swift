internal import Bytes
internal import JSONText

/// What a scan found, and what was made of it: all that a program reads.
struct FusedInput: ~Copyable {
    private(set) var text = ByteBuffer(capacity: 4096)
    var slots = Slots<ValueSlot>(capacity: 64)
    var made = ByteBuffer(capacity: 1024)
    var scratch = ByteBuffer(capacity: 256)
    var slices = Slots<TextPart>(capacity: 8)
    /// The slots of what was found, object after object, in the text's order.
    private(set) var order = MemberOrder()
    /// Where the members of each object end in `order`.
    private var ends = Slots<Int32>(capacity: 8)

    /// Fills the slots; false where the payload has more than its shape says, or is malformed.
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

    /// Takes the text of a list or map; where the first value or name in it begins, nil where there is none.
    mutating func takeElements(_ list: RawSpan) -> Int? { takeText(list, into: &text) }

    /// Takes a step over the input from an offset on, and moves that; behind the text where it is malformed.
    @inline(__always)
    func step<Result>(_ offset: inout Int, _ step: (inout JSONWalker) -> Result) -> Result {
        var walk = JSONWalker(text.bytes, at: offset)
        let result = step(&walk)
        offset = walk.offset
        return result
    }

    /// Fills the slots for the element that begins at an offset; where it ends, nil where it has more than its shape says, or is
    /// malformed.
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
            if walk.isLost { return nil }
        }
        guard program.kinds >> element.kind.rawValue & 1 != 0 else { return nil }
        slots[FusedProgram.elementSlot] = element
        return Int(element.end)
    }

    /// Takes what was made behind the input, of which nothing is looked for any more; gives where it begins.
    mutating func takeMade() -> Int32 { text.take(made) }

    /// Takes text behind the input as well; gives where it begins.
    mutating func take(_ more: borrowing ByteBuffer) -> Int32 { text.take(more) }

    /// Takes the content in a slot behind the input, as a string; what was made is there already, from `behind` on.
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

    /// Where the slots of an object's members stand in `order`.
    @inline(__always)
    func members(of object: Int) -> Range<Int> { (object == 0 ? 0 : Int(ends[object - 1])) ..< Int(ends[object]) }

    /// The text in a slot.
    @_lifetime(borrow self)
    @inline(__always)
    func text(_ slot: Int) -> RawSpan {
        let found = slots[slot]
        let (start, count) = (Int(found.start), Int(found.end &- found.start))
        if found.isMade { return made.slice(start, count) }
        return text.slice(start, count)
    }

    /// What the value in a slot holds: the inside of a string, the text of anything else.
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
    /// Appends other bytes; gives where they begin.
    fileprivate mutating func take(_ more: borrowing ByteBuffer) -> Int32 {
        let start = Int32(truncatingIfNeeded: count)
        append(more.bytes)
        return start
    }
}

extension ValueSlot {
    /// Where a value's content stands in the buffer that holds it.
    @inline(__always)
    var content: (start: Int, count: Int) {
        var quotes: Int32 = 0
        if case .string = kind, !isBare { quotes = 1 }
        return (Int(start &+ quotes), Int(end &- start &- 2 &* quotes))
    }

    /// Text that was made.
    init(made kind: JSONKind, _ start: Int, _ end: Int) {
        self.init(kind: kind)
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
        isMade = true
    }
}
