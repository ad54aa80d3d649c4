internal import Bytes
internal import EventModel
internal import JSONText

/// The members of a definition's rows, and the format of a row's state.
///
/// A slot is a member that is changed as a whole: slots are the shortest targets of a definition, so that no slot lies inside another.
/// Format of a state: the number of slots (u32, little-endian), for each slot in order the size of its JSON text (u32, 0xffffffff if
/// absent), then these texts. In the JSON text of a row, members are sorted bytewise by name; objects without a present slot are omitted.
struct RowLayout: Sendable {
    /// Sorted by their names, outermost first.
    let slots: [JSONPointer]
    private let picker: PointerPicker
    /// The constant text of a row in which all slots are present: the text before each slot and at the end, and the start of each piece.
    private let fixed: [UInt8]
    private let fixedStarts: [Int]

    init(targets: [[Name]]) {
        let sorted = Set(targets).sorted { $0.lexicographicallyPrecedes($1) }
        var kept: [[Name]] = []
        // Targets inside a target directly follow it.
        for target in sorted where kept.last.map({ !target.starts(with: $0) }) ?? true { kept.append(target) }
        slots = kept.map { JSONPointer(tokens: $0.map { MemberName($0.text) }) }
        picker = PointerPicker(slots)
        (fixed, fixedStarts) = Self.fixedText(of: slots)
    }

    private static func fixedText(of slots: [JSONPointer]) -> (text: [UInt8], starts: [Int]) {
        var text = ByteBuffer()
        var starts: [Int] = []
        var braces = OpenObjects(into: &text)
        for slot in slots {
            starts.append(starts.isEmpty ? 0 : text.count)
            braces.open(slot.tokens[...], into: &text)
        }
        starts.append(slots.isEmpty ? 0 : text.count)
        braces.close(into: &text)
        return (text.array(), starts)
    }

    /// The slot that contains a target, and the names inside the slot.
    func slot(of target: [Name]) -> (slot: Int, within: [MemberName])? {
        let tokens = target.map { MemberName($0.text) }
        guard let slot = slots.firstIndex(where: { tokens.starts(with: $0.tokens) }) else { return nil }
        return (slot, Array(tokens.dropFirst(slots[slot].tokens.count)))
    }

    /// The slots inside an object of the row.
    func slots(within object: JSONPointer) -> Range<Int> {
        let first = slots.firstIndex { $0.hasPrefix(object) } ?? 0
        return first ..< first + slots.filter { $0.hasPrefix(object) }.count
    }

    func read(_ state: RawSpan, into slots: inout UniqueArray<SlotValue>) {
        slots.removeAll()
        var offset = bodyStart
        for index in 0 ..< self.slots.count {
            let size = state.load(UInt32.self, at: 4 + index * 4)
            if size == .max {
                slots.append(.absent)
            } else {
                slots.append(SlotValue(slice: ByteSlice(offset, Int(size)), isNew: false))
                offset += Int(size)
            }
        }
    }

    /// Appends the state that consists of the given slots, whose texts are in the old state or in `scratch`.
    func write(_ slots: borrowing UniqueArray<SlotValue>, old: RawSpan, scratch: borrowing ByteBuffer, into state: inout ByteBuffer) {
        state.append(littleEndian: UInt32(slots.count))
        for index in 0 ..< slots.count {
            let slice = slots[index].slice
            state.append(littleEndian: slice.isPresent ? UInt32(slice.size) : .max)
        }
        for index in 0 ..< slots.count {
            let slice = slots[index].slice
            if !slice.isPresent { continue }
            state.append(slots[index].isNew ? scratch.slice(slice.start, slice.size) : old.slice(slice.start, slice.size))
        }
    }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ picks: inout UniqueArray<ByteSlice>) {
        picker.pick(json, into: &picks)
        state.append(littleEndian: UInt32(slots.count))
        for index in 0 ..< picks.count { state.append(littleEndian: picks[index].isPresent ? UInt32(picks[index].size) : .max) }
        for index in 0 ..< picks.count where picks[index].isPresent { state.append(json.slice(picks[index].start, picks[index].size)) }
    }

    private var bodyStart: Int { 4 + slots.count * 4 }

    func slice(of slot: Int, in state: RawSpan) -> ByteSlice {
        let size = state.load(UInt32.self, at: 4 + slot * 4)
        if size == .max { return .absent }
        var offset = bodyStart
        for index in 0 ..< slot {
            let size = state.load(UInt32.self, at: 4 + index * 4)
            if size != .max { offset += Int(size) }
        }
        return ByteSlice(offset, Int(size))
    }

    /// Appends all slots of a state as JSON text.
    func render(_ state: RawSpan, into json: inout ByteBuffer) {
        for index in 0 ..< slots.count where state.load(UInt32.self, at: 4 + index * 4) == .max {
            return render(state, slots.indices, into: &json)
        }
        var offset = bodyStart
        for index in 0 ..< slots.count {
            let size = Int(state.load(UInt32.self, at: 4 + index * 4))
            json.append(fixed.lent.slice(fixedStarts[index], fixedStarts[index + 1] - fixedStarts[index]))
            json.append(state.slice(offset, size))
            offset += size
        }
        json.append(fixed.lent.slice(fixedStarts[slots.count], fixed.count - fixedStarts[slots.count]))
    }

    /// Appends the slots of a state in `range` as JSON text, without their first `depth` names.
    func render(_ state: RawSpan, _ range: Range<Int>, depth: Int = 0, into json: inout ByteBuffer) {
        var braces = OpenObjects(into: &json)
        var offset = bodyStart
        for index in slots.indices {
            let size = state.load(UInt32.self, at: 4 + index * 4)
            if size == .max { continue }
            if range.contains(index) {
                braces.open(slots[index].tokens.dropFirst(depth), into: &json)
                json.append(state.slice(offset, Int(size)))
            }
            offset += Int(size)
        }
        braces.close(into: &json)
    }
}

/// The objects that are open while a row is written, outermost first.
private struct OpenObjects {
    private var opened: ArraySlice<MemberName> = []
    private var isFirst = true

    init(into json: inout ByteBuffer) { json.append(UInt8(ascii: "{")) }

    /// Opens and closes objects so that the value at a pointer can be written next.
    mutating func open(_ names: ArraySlice<MemberName>, into json: inout ByteBuffer) {
        let shared = zip(opened, names.dropLast()).prefix { $0 == $1 }.count
        for _ in shared ..< opened.count { json.append(UInt8(ascii: "}")) }
        if !isFirst { json.append(UInt8(ascii: ",")) }
        for name in names.dropFirst(shared).dropLast() {
            json.append(name.quoted)
            json.append(UInt8(ascii: ":"))
            json.append(UInt8(ascii: "{"))
        }
        if let name = names.last { json.append(name.quoted) }
        json.append(UInt8(ascii: ":"))
        (opened, isFirst) = (names.dropLast(), false)
    }

    func close(into json: inout ByteBuffer) {
        for _ in 0 ... opened.count { json.append(UInt8(ascii: "}")) }
    }
}

/// The slots of a definition's rows, and the initial row.
struct RowSlots: Sendable {
    let layout: RowLayout
    let start: [UInt8]

    init(_ projection: DeclaredProjection) {
        layout = RowLayout(targets: projection.targets.map(\.fixed))
        var row = JSONValue.object([])
        for (target, value) in projection.initial.sorted(by: { $0.target.fixed.count < $1.target.fixed.count }) {
            row = row.setting(target.fixed[...], to: value)
        }
        var state = ByteBuffer()
        let text = Array(row.text.utf8)
        var picks = UniqueArray<ByteSlice>()
        layout.open(text.lent, into: &state, &picks)
        start = state.array()
    }

    func initial(_ slot: Int) -> [UInt8]? {
        let slice = layout.slice(of: slot, in: start.lent)
        return slice.isPresent ? Array(start[slice.start ..< slice.start + slice.size]) : nil
    }
}

extension JSONValue {
    fileprivate func setting(_ names: ArraySlice<Name>, to value: JSONValue) -> JSONValue {
        guard let name = names.first else { return value }
        var members: [Member] = []
        if case .object(let existing) = self { members = existing }
        let inner = member(name.text) ?? .object([])
        let new = Member(name: name.text, value: inner.setting(names.dropFirst(), to: value))
        if let index = members.firstIndex(where: { $0.name.isSame(as: name.text) }) { members[index] = new } else { members.append(new) }
        return .object(members)
    }
}
