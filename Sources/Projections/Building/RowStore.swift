internal import Bytes

/// Rows in memory by their keys: an open-addressing table over a growing arena, in which each row's key and state stand
/// side by side.
struct RowStore: ~Copyable {
    struct Entry: BitwiseCopyable, Sendable {
        var hash: UInt64
        /// Where the key stands in the arena; the state follows it.
        var key: Int
        var keyCount: Int32
        /// -1 where there is no row of this key.
        var stateCount: Int32 = -1
        /// Bytes of the arena that the state may fill.
        var room: Int32 = 0
        /// Changed since it was loaded.
        var isChanged = false

        var state: Int { key &+ Int(keyCount) }
    }

    /// A place of the table: the entry, and the lower half of its hash, so that most others are told apart without a look at it.
    struct Bucket: BitwiseCopyable, Sendable {
        var entry: Int32 = -1
        var tag: UInt32 = 0
    }

    private var entries = Slots<Entry>(capacity: 64)
    private var buckets = Slots<Bucket>(repeating: Bucket(), count: 64)
    private var arena = ByteBuffer(capacity: 1 << 12)
    /// Bytes of the arena that no row uses any more.
    private var waste = 0

    /// What it takes of memory, nearly.
    var bytes: Int {
        arena.capacity + entries.capacity * MemoryLayout<Entry>.stride + buckets.count * MemoryLayout<Bucket>.stride
    }

    var count: Int { entries.count }

    mutating func removeAll() {
        if entries.count == 0 { return }
        entries.removeAll()
        buckets.fill(0 ..< buckets.count, with: Bucket())
        arena.removeAll()
        waste = 0
    }

    /// The entry of a key, or -1.
    func find(_ key: RawSpan, hash: UInt64) -> Int {
        let mask = buckets.count &- 1
        let tag = UInt32(truncatingIfNeeded: hash)
        var place = home(of: hash)
        while true {
            let bucket = buckets[place]
            if bucket.entry < 0 { return -1 }
            if bucket.tag == tag {
                let entry = entries[Int(bucket.entry)]
                if entry.hash == hash, arena.slice(entry.key, Int(entry.keyCount)).equals(key) { return Int(bucket.entry) }
            }
            place = (place &+ 1) & mask
        }
    }

    /// Where a hash's bucket is looked for first: not by its lowest bits, which are the tag, nor by its highest, by which
    /// rows are partitioned.
    @inline(__always)
    private func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 24) & (buckets.count &- 1) }

    /// Has the rows of some operations brought near to the processor: looked at one after the other, each waits for memory;
    /// looked at in steps, all wait together. Returns a number that means nothing.
    func touch(_ operations: RawSpan, _ offsets: borrowing Slots<UInt32>, _ range: Range<Int>, _ places: inout Slots<Int>) -> Int {
        if arena.count == 0 { return 0 }
        places.removeAll()
        for index in range { places.append(home(of: Operation.hash(operations, at: Int(offsets[index])))) }
        for index in 0 ..< places.count { places[index] = Int(buckets[places[index]].entry) }
        for index in 0 ..< places.count { places[index] = places[index] < 0 ? 0 : entries[places[index]].key }
        let last = arena.count &- 1
        var sum = 0
        for index in 0 ..< places.count {
            sum &+= Int(arena.byte(at: min(places[index], last))) &+ Int(arena.byte(at: min(places[index] &+ 64, last)))
        }
        return sum
    }

    /// A new entry without a row, for a key that has none.
    mutating func insert(_ key: RawSpan, hash: UInt64) -> Int {
        if (entries.count + 1) * 4 > buckets.count * 3 { growBuckets() }
        entries.append(Entry(hash: hash, key: arena.count, keyCount: Int32(key.byteCount)))
        arena.append(key)
        place(entries.count - 1)
        return entries.count - 1
    }

    private mutating func place(_ index: Int) {
        let mask = buckets.count &- 1
        let hash = entries[index].hash
        var place = home(of: hash)
        while buckets[place].entry >= 0 { place = (place &+ 1) & mask }
        buckets[place] = Bucket(entry: Int32(index), tag: UInt32(truncatingIfNeeded: hash))
    }

    private mutating func growBuckets() {
        buckets = Slots(repeating: Bucket(), count: buckets.count * 2)
        for index in 0 ..< entries.count { place(index) }
    }

    /// Does an operation to the row of an entry.
    mutating func apply(_ operation: RawSpan, to index: Int, _ fold: any Fold, _ workspace: inout FoldWorkspace) throws(FoldError) {
        let entry = entries[index]
        let outcome = try fold.apply(operation, to: arena.slice(entry.state, Int(max(entry.stateCount, 0))), &workspace)
        switch outcome {
        case .unchanged: return
        case .changed: put(workspace.output, at: index)
        case .deleted: entries[index].stateCount = -1
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
        if count > Int(entries[index].room) { makeRoom(count, at: index) }
        arena.overwrite(state.bytes, at: entries[index].state)
        entries[index].stateCount = Int32(count)
    }

    private mutating func makeRoom(_ count: Int, at index: Int) {
        let old = entries[index]
        // A row that has grown once tends to grow again.
        let room = old.room == 0 ? count : count + count / 2
        if old.state + Int(old.room) == arena.count {
            arena.append(zeros: room - Int(old.room))
        } else {
            waste += Int(old.keyCount + old.room)
            entries[index].key = arena.count
            arena.append(copyOf: old.key, Int(old.keyCount))
            arena.append(zeros: room)
        }
        entries[index].room = Int32(room)
        if waste > 1 << 20, waste > arena.count / 2 { compact() }
    }

    private mutating func compact() {
        var kept = ByteBuffer(capacity: arena.count - waste + 1 << 16)
        for index in 0 ..< entries.count {
            let (start, size) = (entries[index].key, Int(entries[index].keyCount + entries[index].room))
            entries[index].key = kept.count
            kept.append(arena.slice(start, size))
        }
        arena = kept
        waste = 0
    }

    /// The entries in the order of their keys' bytes: all, or those that were changed.
    func sorted(changedOnly: Bool = false) -> [Int] {
        // Most comparisons end within the first eight bytes.
        var order: [(prefix: UInt64, index: Int)] = []
        order.reserveCapacity(entries.count)
        for index in 0 ..< entries.count where changedOnly ? entries[index].isChanged : entries[index].stateCount >= 0 {
            order.append((arena.slice(entries[index].key, Int(entries[index].keyCount)).prefix, index))
        }
        order.sort { a, b in
            if a.prefix != b.prefix { return a.prefix < b.prefix }
            return arena.slice(entries[a.index].key, Int(entries[a.index].keyCount))
                .compare(arena.slice(entries[b.index].key, Int(entries[b.index].keyCount))) < 0
        }
        return order.map(\.index)
    }

    func withKey<R>(_ index: Int, _ body: (RawSpan) throws -> R) rethrows -> R {
        try body(arena.slice(entries[index].key, Int(entries[index].keyCount)))
    }

    /// Appends the row of an entry as JSON text; false where there is none.
    func render(_ index: Int, _ fold: any Fold, into json: inout ByteBuffer) -> Bool {
        guard entries[index].stateCount >= 0 else { return false }
        fold.render(arena.slice(entries[index].state, Int(entries[index].stateCount)), into: &json)
        return true
    }
}

extension RawSpan {
    /// The first eight bytes as a number whose order is theirs; zeros stand in for those that are not there.
    var prefix: UInt64 {
        if byteCount >= 8 { return load(UInt64.self, at: 0).byteSwapped }
        var prefix: UInt64 = 0
        for offset in 0 ..< byteCount { prefix |= UInt64(byte(at: offset)) << UInt64(56 - offset * 8) }
        return prefix
    }
}
