internal import Bytes
internal import JSONText

/// What a scan found, and where the values stand that are made on the way.
struct FusedInput: ~Copyable {
    var text = ByteBuffer(capacity: 4096)
    var slots = Slots<ValueSlot>(capacity: 64)
    /// The slots of what was found, object after object, in the text's order.
    private(set) var order = Slots<Int32>(capacity: 64)
    /// Where the members of each object end in `order`.
    private var ends = Slots<Int32>(capacity: 8)

    /// Fills the slots; false where the payload has more than its shape says, or is malformed.
    mutating func scan(_ payload: RawSpan, for program: FusedProgram) -> Bool {
        order.removeAll()
        ends.removeAll()
        // What is made is made before it is asked for.
        slots.fill(FusedProgram.madeSlots ..< program.slotCount, with: ValueSlot(kind: .null))
        guard let start = takeText(payload, into: &text), text.bytes.byte(at: start) == UInt8(ascii: "{") else { return false }
        let objects = program.objects
        for index in objects.indices {
            var begin = start
            if let slot = objects[index].slot {
                begin = slots[slot].kind == .object ? Int(slots[slot].start) : -1
            }
            if begin >= 0 {
                guard let end = objects[index].members.scan(text, at: begin, base: objects[index].base, into: &slots, order: &order) else {
                    return false
                }
                if index == 0, !isEnd(of: text, at: end) { return false }
            }
            ends.append(Int32(truncatingIfNeeded: order.count))
        }
        return true
    }

    /// Where the slots of an object's members stand in `order`.
    @inline(__always)
    func members(of object: Int) -> Range<Int> { (object == 0 ? 0 : Int(ends[object - 1])) ..< Int(ends[object]) }
}

/// The text in a slot.
@_lifetime(borrow input, borrow made)
@inline(__always)
func text(_ slot: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> RawSpan {
    let found = input.slots[slot]
    let (start, count) = (Int(found.start), Int(found.end &- found.start))
    return found.isMade ? made.slice(start, count) : input.text.slice(start, count)
}

/// What the value in a slot holds: the inside of a string, the text of anything else.
@_lifetime(borrow input, borrow made)
@inline(__always)
func content(_ slot: Int, _ input: borrowing FusedInput, _ made: borrowing ByteBuffer) -> RawSpan {
    let found = input.slots[slot]
    let quotes: Int = found.kind == .string && !found.isBare ? 1 : 0
    let (start, count) = (Int(found.start) &+ quotes, Int(found.end &- found.start) &- 2 &* quotes)
    return found.isMade ? made.slice(start, count) : input.text.slice(start, count)
}
