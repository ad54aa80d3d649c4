internal import EventModel

/// Stream ids that were looked up before: a stream keeps its id for as long as its epoch lasts.
struct StreamMemory {
    private static let entriesMax = 1 << 18
    private var ids: [String: UInt64] = [:]
    private var epoch = Epoch.first

    subscript(name: String) -> UInt64? { ids[name] }

    mutating func remember(_ name: String, _ id: UInt64) {
        if ids.count == Self.entriesMax { ids.removeAll(keepingCapacity: true) }
        ids[name] = id
    }

    mutating func follow(_ epoch: Epoch) {
        if epoch != self.epoch { ids.removeAll() }
        self.epoch = epoch
    }
}
