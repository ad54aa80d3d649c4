internal import Bytes
internal import EventModel
internal import Hashing

/// The writing thread's cache of streams by name: ids stay right within an epoch, heads until another process writes.
///
/// A hash table with open addressing over names that lie side by side: each event of an append looks up its stream here, without counting
/// references or allocating.
struct StreamTable: ~Copyable {
    /// A stream; `id` is 0 where it has no events.
    struct Entry: BitwiseCopyable, Sendable {
        fileprivate let hash: UInt64
        fileprivate let nameStart, nameBytes: UInt32
        /// The generation in which the head was last known to be right; 0 where it was never looked up.
        fileprivate var generation: UInt64 = 0
        fileprivate var isChanged = false
        fileprivate(set) var id: UInt64 = 0
        fileprivate(set) var revision: UInt64 = 0
        fileprivate(set) var position: UInt64 = 0
        /// The target of the head's jump pointer, the target of that record's pointer, and so on; 0 from where they are unknown. Five are
        /// enough for a stream of fifty events.
        fileprivate(set) var jumps: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

        fileprivate init(hash: UInt64, nameStart: Int, nameBytes: Int) {
            (self.hash, self.nameStart, self.nameBytes) = (hash, UInt32(nameStart), UInt32(nameBytes))
        }

        var head: StreamHead? {
            id == 0 ? nil : StreamHead(revision: Revision(revision), position: Position(position), jump: Position(jumps.0))
        }
    }

    /// A name that is being looked up together with others: where it stands behind the names, and one more than the index of its entry, 0
    /// while that is unknown.
    struct Lookup: BitwiseCopyable, Sendable {
        fileprivate let hash: UInt64
        fileprivate let start, bytes: UInt32
        fileprivate var entry: UInt32 = 0
    }

    /// With this many entries the table is cleared before the next commit.
    private static let entriesMax = 1 << 18

    private var entries = UniqueArray<Entry>(capacity: 64)
    private var names = ByteBuffer(capacity: 1_024)
    /// The hash table: one more than the index of an entry, at the place of its hash or in the next free one; 0 for an empty place. Their
    /// number is a power of two.
    private var places = UniqueArray<UInt32>(repeating: 0, count: 128)
    private var lookups = UniqueArray<Lookup>(capacity: 64)
    private let seed = UInt64.random(in: .min ... .max)
    private var epoch = Epoch.first
    private var generation: UInt64 = 1
    /// The end of the log as of which the whole table was right; nil during a commit, and after one that failed.
    private var settled: Position?
    /// The entries whose heads have moved in the current commit.
    private var changed = UniqueArray<UInt32>(capacity: 64)

    /// Begins a commit after a position: keeps the entries that are right as of it, and drops those that a failed commit has left.
    mutating func begin(_ epoch: Epoch, after last: Position) {
        if settled == nil || epoch != self.epoch || entries.count > Self.entriesMax {
            removeAll()
        } else if settled != last {
            generation += 1
        }
        for index in 0 ..< changed.count { entries[Int(changed[index])].isChanged = false }
        changed.removeAll()
        (self.epoch, settled) = (epoch, nil)
    }

    /// Notes that the current commit was made, or has changed nothing.
    mutating func noteCommitted(through last: Position) { settled = last }

    private mutating func removeAll() {
        entries.removeAll()
        names.removeAll()
        changed.removeAll()
        places.fill(0 ..< places.count, with: 0)
    }

    // MARK: Looking up

    subscript(index: Int) -> Entry { entries[index] }

    /// Whether an entry's head is right in the current commit.
    func isCurrent(_ index: Int) -> Bool { entries[index].generation == generation }

    /// The index of a name's entry, which is made if there is none.
    mutating func index(of name: String) -> Int {
        // The name is copied behind all others, and stays there if it is new.
        let start = names.count
        names.append(name)
        let count = names.count - start
        let hash = seededHash(names.slice(start, count), seed)
        var place = Int(truncatingIfNeeded: hash) & (places.count - 1)
        while places[place] != 0 {
            let index = Int(places[place]) - 1
            if entries[index].hash == hash, isNamed(index, start, count) {
                names.truncate(to: start)
                return index
            }
            place = (place + 1) & (places.count - 1)
        }
        entries.append(Entry(hash: hash, nameStart: start, nameBytes: count))
        places[place] = UInt32(entries.count)
        if entries.count > places.count / 2 { spread() }
        return entries.count - 1
    }

    /// The indexes of several streams' entries, looked up together, so that the processor waits for their memory at the same time.
    mutating func find(_ events: Span<StoredEvent>, _ range: Range<Int>, into found: inout [Int]) {
        let start = names.count
        lookups.removeAll()
        for index in range {
            let nameStart = names.count
            names.append(events[index].stream.text)
            let count = names.count - nameStart
            lookups.append(Lookup(hash: seededHash(names.slice(nameStart, count), seed), start: UInt32(nameStart), bytes: UInt32(count)))
        }
        // Each of these loops reads another part of memory.
        for index in 0 ..< lookups.count {
            lookups[index].entry = places[Int(truncatingIfNeeded: lookups[index].hash) & (places.count - 1)]
        }
        for index in 0 ..< lookups.count where lookups[index].entry > 0 {
            if entries[Int(lookups[index].entry) - 1].hash != lookups[index].hash { lookups[index].entry = 0 }
        }
        for index in 0 ..< lookups.count where lookups[index].entry > 0 {
            let lookup = lookups[index]
            if !isNamed(Int(lookup.entry) - 1, Int(lookup.start), Int(lookup.bytes)) { lookups[index].entry = 0 }
        }
        names.truncate(to: start)
        for index in 0 ..< lookups.count {
            let entry = Int(lookups[index].entry)
            found.append(entry > 0 ? entry - 1 : self.index(of: events[range.lowerBound + index].stream.text))
        }
    }

    private func isNamed(_ index: Int, _ start: Int, _ count: Int) -> Bool {
        let entry = entries[index]
        return names.slice(Int(entry.nameStart), Int(entry.nameBytes)).equals(names.slice(start, count))
    }

    private mutating func spread() {
        places.fill(0 ..< places.count * 2, with: 0)
        for index in 0 ..< entries.count {
            var place = Int(truncatingIfNeeded: entries[index].hash) & (places.count - 1)
            while places[place] != 0 { place = (place + 1) & (places.count - 1) }
            places[place] = UInt32(index + 1)
        }
    }

    // MARK: Writing down

    /// Stores the result of a lookup: the stream's id and head, or that there is no such stream.
    mutating func learn(_ index: Int, _ id: UInt64?, _ head: StreamHead?) {
        entries[index].id = id ?? 0
        entries[index].revision = head?.revision.rawValue ?? 0
        entries[index].position = head?.position.rawValue ?? 0
        entries[index].jumps = (head?.jump.rawValue ?? 0, 0, 0, 0, 0)
        entries[index].generation = generation
    }

    /// Notes an event that follows the stream's head, or begins the stream.
    mutating func append(_ index: Int, at position: Position, jump: UInt64) {
        var entry = entries[index]
        if entry.id == 0 {
            entry.id = position.rawValue
        } else {
            entry.revision += 1
            let isMerging = jump != entry.position
            let (first, second, third, fourth, fifth) = entry.jumps
            entry.jumps = isMerging ? (jump, third, fourth, fifth, 0) : (jump, first, second, third, fourth)
        }
        entry.position = position.rawValue
        if !entry.isChanged { changed.append(UInt32(index)) }
        entry.isChanged = true
        entries[index] = entry
    }

    /// Calls `body` once for each stream whose head has moved in the commit.
    func forEachChanged(_ body: (UInt64, StreamHead) -> Void) {
        for index in 0 ..< changed.count {
            let entry = entries[Int(changed[index])]
            if let head = entry.head { body(entry.id, head) }
        }
    }
}
