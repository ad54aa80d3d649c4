internal import Bytes

/// Rows in memory, by key: an open-addressing hash table over a growing arena. The key, state and flags of a row are adjacent, so that a
/// lookup waits for memory only twice.
///
/// A row is identified by its offset, a multiple of 8, which is valid until the store is changed. At this offset: hash of the key (u64),
/// size of the key (u32), size of the state (u32, 0xffffffff if there is no row of this key), its capacity (u32), flags (u32), key, state.
struct RowStore: ~Copyable {
    private enum Field {
        static let keyBytes = 8
        static let stateBytes = 12
        static let room = 16
        static let flags = 20
        static let size = 24
    }

    private static let noState = UInt32.max
    /// A flag: the row has moved to another offset.
    private static let hasMoved: UInt32 = 1

    /// An entry of the hash table: the location of a row, in units of 8 bytes and counted from 1 (0 marks an empty entry), and the lower
    /// half of its hash, which distinguishes most rows without reading them.
    struct Bucket: BitwiseCopyable, Sendable {
        var unit: UInt32 = 0
        var tag: UInt32 = 0

        var row: Int { (Int(unit) &- 1) &* 8 }
    }

    private var buckets = UniqueArray<Bucket>(repeating: Bucket(), count: 64)
    private var arena = ByteBuffer(capacity: 1 << 12)
    private var count = 0
    /// The offset of the last row, which can grow in place.
    private var last = 0
    /// The number of bytes in the arena that no row uses any more.
    private var waste = 0

    /// The approximate memory use in bytes, not counting the unwritten part of the arena.
    var bytes: Int { arena.count + buckets.count * MemoryLayout<Bucket>.stride }

    private func keyBytes(_ row: Int) -> Int { Int(arena.bytes.load(UInt32.self, at: row &+ Field.keyBytes)) }
    private func room(_ row: Int) -> Int { Int(arena.bytes.load(UInt32.self, at: row &+ Field.room)) }
    private func flags(_ row: Int) -> UInt32 { arena.bytes.load(UInt32.self, at: row &+ Field.flags) }
    private func isThere(_ row: Int) -> Bool { arena.bytes.load(UInt32.self, at: row &+ Field.stateBytes) != Self.noState }

    @_lifetime(borrow self)
    private func key(_ row: Int) -> RawSpan { arena.slice(row &+ Field.size, keyBytes(row)) }

    /// Empty if there is no row of this key.
    @_lifetime(borrow self)
    private func state(_ row: Int) -> RawSpan {
        let size = arena.bytes.load(UInt32.self, at: row &+ Field.stateBytes)
        return arena.slice(row &+ Field.size &+ keyBytes(row), size == Self.noState ? 0 : Int(size))
    }

    private func end(_ row: Int) -> Int { (row &+ Field.size &+ keyBytes(row) &+ room(row) &+ 7) & ~7 }

    /// The offset of the row of a key; -1 if there is none.
    func find(_ key: RawSpan, hash: UInt64) -> Int {
        let mask = buckets.count &- 1
        let tag = UInt32(truncatingIfNeeded: hash)
        var place = home(of: hash)
        while true {
            let bucket = buckets[place]
            if bucket.unit == 0 { return -1 }
            if bucket.tag == tag, self.key(bucket.row).equals(key) { return bucket.row }
            place = (place &+ 1) & mask
        }
    }

    /// The first bucket to try for a hash. Uses neither the lowest bits, which form the tag, nor the highest, which choose the partition.
    @inline(__always)
    private func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 24) & (buckets.count &- 1) }

    /// Loads the rows of several operations into the processor's cache. Reading them one after another would wait for memory each time;
    /// reading them in steps lets all waits overlap. The returned number has no meaning; it prevents the reads from being optimized away.
    func touch(
        _ operations: RawSpan, _ offsets: borrowing UniqueArray<UInt32>, _ range: Range<Int>, _ places: inout UniqueArray<Int>
    ) -> Int {
        if arena.count == 0 { return 0 }
        places.removeAll()
        for index in range { places.append(home(of: Operation.hash(operations, at: Int(offsets[index])))) }
        for index in 0 ..< places.count { places[index] = max(buckets[places[index]].row, 0) }
        let last = arena.count &- 1
        var sum = 0
        for index in 0 ..< places.count {
            let row = places[index]
            sum &+= Int(arena.byte(at: row)) &+ Int(arena.byte(at: min(row &+ 64, last))) &+ Int(arena.byte(at: min(row &+ 128, last)))
        }
        return sum
    }

    /// Adds an entry without a state, for a key that has none yet.
    mutating func insert(_ key: RawSpan, hash: UInt64) -> Int {
        if waste > 1 << 20, waste > arena.count / 2 { compact() }
        if (count + 1) * 4 > buckets.count * 3 {
            buckets = UniqueArray(repeating: Bucket(), count: buckets.count * 2)
            placeAll()
        }
        let row = begin(hash: hash, keyBytes: key.byteCount, stateBytes: Self.noState, room: 0, flags: 0)
        arena.append(key)
        pad()
        count += 1
        buckets[vacancy(for: hash)] = bucket(row, hash)
        return row
    }

    private mutating func begin(hash: UInt64, keyBytes: Int, stateBytes: UInt32, room: Int, flags: UInt32) -> Int {
        last = arena.count
        arena.append(littleEndian: hash)
        arena.append(littleEndian: UInt32(keyBytes))
        arena.append(littleEndian: stateBytes)
        arena.append(littleEndian: UInt32(room))
        arena.append(littleEndian: flags)
        return last
    }

    private mutating func pad() { arena.append(zeros: -arena.count & 7) }

    private func bucket(_ row: Int, _ hash: UInt64) -> Bucket {
        Bucket(unit: UInt32(row / 8 + 1), tag: UInt32(truncatingIfNeeded: hash))
    }

    private func vacancy(for hash: UInt64) -> Int {
        var place = home(of: hash)
        while buckets[place].unit != 0 { place = (place &+ 1) & (buckets.count &- 1) }
        return place
    }

    private mutating func placeAll() {
        var row = 0
        while row < arena.count {
            if flags(row) & Self.hasMoved == 0 {
                let hash = arena.bytes.load(UInt64.self, at: row)
                buckets[vacancy(for: hash)] = bucket(row, hash)
            }
            row = end(row)
        }
    }

    mutating func apply(_ operation: RawSpan, to row: Int, _ fold: any Fold, _ workspace: inout FoldWorkspace) throws(FoldError) {
        switch try fold.apply(operation, to: state(row), &workspace) {
        case .unchanged: return
        case .changed: put(workspace.output, at: row)
        case .deleted: arena.store(littleEndian: Self.noState, at: row &+ Field.stateBytes)
        }
    }

    private mutating func put(_ state: borrowing ByteBuffer, at row: Int) {
        let row = state.count > room(row) ? grown(row, for: state.count) : row
        arena.overwrite(state.bytes, at: row &+ Field.size &+ keyBytes(row))
        arena.store(littleEndian: UInt32(state.count), at: row &+ Field.stateBytes)
    }

    /// The offset of the row after it was enlarged.
    private mutating func grown(_ old: Int, for count: Int) -> Int {
        // States vary slightly from event to event; a row that has grown once is likely to grow again.
        let room = count + count / (self.room(old) == 0 ? 4 : 2)
        if old == last {
            arena.truncate(to: old + Field.size + keyBytes(old) + self.room(old))
            arena.append(zeros: room - self.room(old))
            arena.store(littleEndian: UInt32(room), at: old + Field.room)
            pad()
            return old
        }
        let hash = arena.bytes.load(UInt64.self, at: old)
        var place = home(of: hash)
        while buckets[place].row != old { place = (place &+ 1) & (buckets.count &- 1) }
        waste += end(old) - old
        arena.store(littleEndian: flags(old) | Self.hasMoved, at: old + Field.flags)
        let row = begin(
            hash: hash, keyBytes: keyBytes(old), stateBytes: Self.noState, room: room, flags: flags(old) & ~Self.hasMoved)
        arena.append(copyOf: old + Field.size, keyBytes(old))
        arena.append(zeros: room)
        pad()
        buckets[place] = bucket(row, hash)
        return row
    }

    /// Reclaims the space of rows that have moved.
    private mutating func compact() {
        var kept = ByteBuffer(capacity: arena.count - waste + 1 << 16)
        var row = 0
        while row < arena.count {
            let next = end(row)
            if flags(row) & Self.hasMoved == 0 {
                last = kept.count
                kept.append(arena.slice(row, next - row))
            }
            row = next
        }
        arena = kept
        waste = 0
        buckets.fill(0 ..< buckets.count, with: Bucket())
        placeAll()
    }

    func sorted() -> [Int] {
        // Most comparisons are decided by the first eight bytes.
        var order: [(prefix: UInt64, row: Int)] = []
        order.reserveCapacity(count)
        var row = 0
        while row < arena.count {
            if flags(row) & Self.hasMoved == 0, isThere(row) { order.append((key(row).prefix, row)) }
            row = end(row)
        }
        order.sort { a, b in
            if a.prefix != b.prefix { return a.prefix < b.prefix }
            return key(a.row).compare(key(b.row)) < 0
        }
        return order.map(\.row)
    }

    func withKey<R>(_ row: Int, _ body: (RawSpan) throws -> R) rethrows -> R { try body(key(row)) }

    /// Appends a row as JSON text. Returns false if there is none.
    func render(_ row: Int, _ fold: any Fold, into json: inout ByteBuffer) -> Bool {
        guard isThere(row) else { return false }
        fold.render(state(row), into: &json)
        return true
    }
}

extension RawSpan {
    /// The first eight bytes as a number that sorts like the bytes; missing bytes count as zero.
    var prefix: UInt64 {
        if byteCount >= 8 { return load(UInt64.self, at: 0).byteSwapped }
        var prefix: UInt64 = 0
        for offset in 0 ..< byteCount { prefix |= UInt64(byte(at: offset)) << UInt64(56 - offset * 8) }
        return prefix
    }
}
