internal import EventModel

/// The heads of streams by stream id: a hash table with open addressing. The standard library's table takes several times as long, and
/// every appended event goes through it.
struct HeadTable: Sendable {
    private struct Slot {
        /// 0 for an empty slot.
        var id: UInt64 = 0
        var head = StreamHead(revision: .first, position: .start, jump: .start)
    }

    /// The number of slots is a power of two.
    private var slots = [Slot](repeating: Slot(), count: 64)
    private(set) var count = 0

    var ids: [UInt64] { slots.compactMap { $0.id == 0 ? nil : $0.id } }

    subscript(id: UInt64) -> StreamHead? {
        let slot = slots[place(of: id)]
        return slot.id == 0 ? nil : slot.head
    }

    mutating func set(_ id: UInt64, _ head: StreamHead) {
        var place = place(of: id)
        if slots[place].id == 0 {
            count += 1
            if count > slots.count / 4 * 3 {
                spread()
                place = self.place(of: id)
            }
            slots[place].id = id
        }
        slots[place].head = head
    }

    /// The slot of an id, or the empty one where it belongs.
    private func place(of id: UInt64) -> Int {
        // Ids are positions, which nobody can choose: multiplying by 2^64 divided by the golden ratio scatters them.
        var place = Int(truncatingIfNeeded: (id &* 0x9e37_79b9_7f4a_7c15) >> 32) & (slots.count - 1)
        while slots[place].id != 0, slots[place].id != id { place = (place + 1) & (slots.count - 1) }
        return place
    }

    private mutating func spread() {
        let before = slots
        slots = [Slot](repeating: Slot(), count: before.count * 2)
        for slot in before where slot.id != 0 { slots[place(of: slot.id)] = slot }
    }
}
