internal import Bytes

/// Rows in memory by their keys: an open-addressing table over two growing arenas.
struct RowStore: ~Copyable {
    private struct Entry {
        var hash: UInt64
        var key: Int
        var keyCount: Int32
        /// -1 where there is no row of this key.
        var stateCount: Int32 = -1
        var state = 0
        var room: Int32 = 0
        /// Changed since it was loaded.
        var isChanged = false
    }

    private var entries: [Entry] = []
    private var buckets = [Int32](repeating: -1, count: 64)
    private var keys = ByteBuffer(capacity: 1 << 10)
    private var states = ByteBuffer(capacity: 1 << 12)
    /// Bytes of `states` that no row uses any more.
    private var waste = 0

    /// What it takes of memory, nearly.
    var bytes: Int { keys.capacity + states.capacity + entries.capacity * MemoryLayout<Entry>.stride + buckets.count * 4 }

    var count: Int { entries.count }

    mutating func removeAll() {
        if entries.isEmpty { return }
        entries.removeAll(keepingCapacity: true)
        for index in buckets.indices { buckets[index] = -1 }
        keys.removeAll()
        states.removeAll()
        waste = 0
    }

    /// The entry of a key, or -1.
    func find(_ key: RawSpan, hash: UInt64) -> Int {
        let mask = buckets.count - 1
        var bucket = Int(truncatingIfNeeded: hash) & mask
        while true {
            let index = Int(buckets[bucket])
            if index < 0 { return -1 }
            if entries[index].hash == hash, keys.slice(entries[index].key, Int(entries[index].keyCount)).equals(key) { return index }
            bucket = (bucket + 1) & mask
        }
    }

    /// A new entry without a row, for a key that has none.
    mutating func insert(_ key: RawSpan, hash: UInt64) -> Int {
        if (entries.count + 1) * 4 > buckets.count * 3 { growBuckets() }
        entries.append(Entry(hash: hash, key: keys.count, keyCount: Int32(key.byteCount)))
        keys.append(key)
        place(entries.count - 1)
        return entries.count - 1
    }

    private mutating func place(_ index: Int) {
        let mask = buckets.count - 1
        var bucket = Int(truncatingIfNeeded: entries[index].hash) & mask
        while buckets[bucket] >= 0 { bucket = (bucket + 1) & mask }
        buckets[bucket] = Int32(index)
    }

    private mutating func growBuckets() {
        buckets = [Int32](repeating: -1, count: buckets.count * 2)
        for index in entries.indices { place(index) }
    }

    /// Does an operation to the row of an entry.
    mutating func apply(_ operation: RawSpan, to index: Int, _ fold: any Fold, _ workspace: inout FoldWorkspace) throws(FoldError) {
        let entry = entries[index]
        let outcome = try fold.apply(operation, to: states.slice(entry.state, Int(max(entry.stateCount, 0))), &workspace)
        switch outcome {
        case .unchanged: return
        case .changed: put(workspace.output, at: index)
        case .deleted:
            waste += Int(entry.room)
            (entries[index].stateCount, entries[index].room) = (-1, 0)
        }
        entries[index].isChanged = true
    }

    /// Gives an entry the state of a row that was kept elsewhere.
    mutating func load(_ json: RawSpan, to index: Int, _ fold: any Fold, _ workspace: inout FoldWorkspace) throws(FoldError) {
        var state = ByteBuffer()
        try fold.open(json, into: &state, &workspace)
        put(state, at: index)
    }

    private mutating func put(_ state: borrowing ByteBuffer, at index: Int) {
        let count = state.count
        if count <= Int(entries[index].room) {
            states.overwrite(state.bytes, at: entries[index].state)
        } else {
            waste += Int(entries[index].room)
            entries[index].room = 0
            if waste > 1 << 20, waste > states.count / 2 { compact() }
            // A row that has grown once tends to grow again.
            let room = entries[index].stateCount < 0 ? count : count + count / 2
            (entries[index].state, entries[index].room) = (states.count, Int32(room))
            states.append(state.bytes)
            for _ in count ..< room { states.append(0) }
        }
        entries[index].stateCount = Int32(count)
    }

    private mutating func compact() {
        var kept = ByteBuffer(capacity: states.count - waste + 1 << 16)
        for index in entries.indices where entries[index].room > 0 {
            let start = kept.count
            kept.append(states.slice(entries[index].state, Int(entries[index].room)))
            entries[index].state = start
        }
        states = kept
        waste = 0
    }

    /// The entries in the order of their keys' bytes: all, or those that were changed.
    func sorted(changedOnly: Bool = false) -> [Int] {
        // Most comparisons end within the first eight bytes.
        var order: [(prefix: UInt64, index: Int)] = []
        order.reserveCapacity(entries.count)
        for index in entries.indices where changedOnly ? entries[index].isChanged : entries[index].stateCount >= 0 {
            var prefix: UInt64 = 0
            for offset in 0 ..< 8 {
                prefix =
                    prefix << 8 | (offset < Int(entries[index].keyCount) ? UInt64(keys.bytes.byte(at: entries[index].key + offset)) : 0)
            }
            order.append((prefix, index))
        }
        order.sort { a, b in
            if a.prefix != b.prefix { return a.prefix < b.prefix }
            return keys.slice(entries[a.index].key, Int(entries[a.index].keyCount))
                .compare(keys.slice(entries[b.index].key, Int(entries[b.index].keyCount))) < 0
        }
        return order.map(\.index)
    }

    func withKey<R>(_ index: Int, _ body: (RawSpan) throws -> R) rethrows -> R {
        try body(keys.slice(entries[index].key, Int(entries[index].keyCount)))
    }

    /// Appends the row of an entry as JSON text; false where there is none.
    func render(_ index: Int, _ fold: any Fold, into json: inout ByteBuffer) -> Bool {
        guard entries[index].stateCount >= 0 else { return false }
        fold.render(states.slice(entries[index].state, Int(entries[index].stateCount)), into: &json)
        return true
    }
}
