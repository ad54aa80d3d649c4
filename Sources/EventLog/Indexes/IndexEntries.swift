internal import Bytes
package import EventModel
internal import Hashing
package import LMDB

/// The index entries of a run of consecutive events.
struct IndexEntries: Sendable {
    /// A type at one birth version, as the census counts events.
    struct CensusKey: Hashable, Comparable, Sendable {
        let type: TypeID
        let born: UInt32

        var key: [UInt8] { sortable(type) + sortable(born) }

        static func < (a: CensusKey, b: CensusKey) -> Bool { (a.type, a.born) < (b.type, b.born) }
    }

    /// The last event of each stream, by stream id.
    var heads = HeadTable()
    /// Names of the streams that began in the run, with the position of their first event.
    var streams: [String: UInt64] = [:]
    var ids: [IDKey: UInt64] = [:]
    var census: [CensusKey: UInt64] = [:]
    var events: UInt64 = 0

    mutating func add(_ block: BlockView, after position: Position) {
        let start = block.index(after: position)
        var kinds = CensusCount()
        for index in start ..< max(start, block.count) {
            let record = block.record(index)
            heads.set(record.streamID, StreamHead(revision: record.revision, position: record.position, jump: record.jump))
            if let name = record.streamName { streams[name.text] = record.position.rawValue }
            if record.idGiven { ids[IDKey(record)] = record.position.rawValue }
            kinds.add(CensusKey(type: record.type, born: record.born.rawValue))
            events += 1
        }
        kinds.add(to: &census)
    }
}

/// The rows of the index tables, as far as they were written.
package enum Indexes {
    static func head(_ stream: UInt64, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> StreamHead? {
        guard let row = try tables.heads.get(bytes(stream).lent, transaction) else { return nil }
        guard let head = StreamHead(row: row) else { throw damaged("heads") }
        return head
    }

    static func append(_ head: StreamHead, to row: inout ByteBuffer) {
        row.append(littleEndian: head.revision.rawValue)
        row.append(littleEndian: head.position.rawValue)
        row.append(littleEndian: head.jump.rawValue)
    }

    static func stream(_ name: String, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> UInt64? {
        try integer(tables.streams.get(Array(name.utf8).lent, transaction), "streams")
    }

    /// Checks that the rows of streams are complete, before a stream that is not found is taken for a new one. Every stream has one row in
    /// `streams` and one in `heads`, and a sweep writes the former first. O(1) where the counts match. Only `verify` notices a row that was
    /// replaced by another.
    /// - Throws: `EvstoreError.corruptBlock` where rows of `streams` are missing.
    static func requireStreams(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        if try tables.streams.count(transaction) >= tables.heads.count(transaction) { return }
        // Cuts by older programs have left heads of streams that begin after `indexed`; they stay until the next sweep.
        let indexed = try StateRows.numbers(transaction, tables).indexed.rawValue
        var (streams, heads) = (0, 0)
        try tables.heads.forEach(transaction) { key, _ in
            if key.byteCount == 8, key.load(UInt64.self, at: 0) <= indexed { heads += 1 }
            return true
        }
        try tables.streams.forEachPosition(transaction) { _, position in
            if position <= indexed { streams += 1 }
            return true
        }
        if streams < heads { throw damaged("streams") }
    }

    static func position(_ id: IDKey, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> UInt64? {
        try integer(tables.ids.get(id.bytes.lent, transaction), "ids")
    }

    package static func type(_ name: String, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> TypeID? {
        guard let row = try tables.types.get(Array(name.utf8).lent, transaction) else { return nil }
        guard row.byteCount == 4 else { throw damaged("types") }
        return row.load(TypeID.self, at: 0)
    }

    package static func types(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> [TypeID: String] {
        var types: [TypeID: String] = [:]
        try tables.types.forEach(transaction) { key, value in
            guard value.byteCount == 4, let name = String(utf8: key) else { throw damaged("types") }
            types[value.load(TypeID.self, at: 0)] = name
            return true
        }
        return types
    }

    package static func areTypesNumbered(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Bool {
        let types = try types(transaction, tables)
        return try tables.types.count(transaction) == types.count && types.keys.allSatisfy { $0 >= 1 && $0 <= types.count }
    }

    static func census(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> [IndexEntries.CensusKey: UInt64] {
        var census: [IndexEntries.CensusKey: UInt64] = [:]
        try tables.census.forEach(transaction) { key, value in
            guard key.byteCount == 8, value.byteCount == 8 else { throw damaged("census") }
            let type = key.load(TypeID.self, at: 0).byteSwapped
            let born = key.load(UInt32.self, at: 4).byteSwapped
            census[IndexEntries.CensusKey(type: type, born: born)] = value.load(UInt64.self, at: 0)
            return true
        }
        return census
    }

    private static func integer(_ row: RawSpan?, _ table: String) throws -> UInt64? {
        guard let row else { return nil }
        guard row.byteCount == 8 else { throw damaged(table) }
        return row.load(UInt64.self, at: 0)
    }

    static func damaged(_ table: String) -> EvstoreError {
        .corruptBlock(
            position: .start, reason: "a row of the index \(table) is missing, or no store has written it")
    }
}

extension StreamHead {
    /// A row of the table `heads`; nil where it has the wrong length.
    init?(row: RawSpan) {
        guard row.byteCount == 24 else { return nil }
        self.init(
            revision: Revision(row.load(UInt64.self, at: 0)), position: Position(row.load(UInt64.self, at: 8)),
            jump: Position(row.load(UInt64.self, at: 16)))
    }
}

/// The number of events of a type, by its name at birth, and of a birth version.
package struct CensusRow: Hashable, Sendable {
    package var type: String
    package var born: SchemaVersion
    package var count: UInt64

    package init(type: String, born: SchemaVersion, count: UInt64) {
        (self.type, self.born, self.count) = (type, born, count)
    }
}

/// A type, by its name at birth, and a birth version.
package struct EventKind: Hashable, Sendable {
    package var type: String
    package var born: SchemaVersion

    package init(type: String, born: SchemaVersion) { (self.type, self.born) = (type, born) }
}

/// The last event of a stream.
package struct StreamHead: Hashable, Sendable {
    package var revision: Revision
    package var position: Position
    /// The target of the last event's jump pointer; 0 for a stream's first event.
    var jump: Position
}

/// Counts events by kind. Consecutive events are mostly of one kind: the kind that was counted last is not in the table yet.
struct CensusCount: Sendable {
    private var counts: [IndexEntries.CensusKey: UInt64] = [:]
    private var run: (kind: IndexEntries.CensusKey, count: UInt64) = (IndexEntries.CensusKey(type: 0, born: 0), 0)

    mutating func add(_ kind: IndexEntries.CensusKey) {
        if kind != run.kind {
            if run.count > 0 { counts[run.kind, default: 0] += run.count }
            run = (kind, 0)
        }
        run.count += 1
    }

    /// Adds the counts to those of other events.
    func add(to census: inout [IndexEntries.CensusKey: UInt64]) {
        census.merge(counts) { $0.plus($1) }
        if run.count > 0 { census[run.kind, default: 0] = census[run.kind, default: 0].plus(run.count) }
    }
}

extension CensusRow {
    static func rows(_ census: [IndexEntries.CensusKey: UInt64], names: [TypeID: String]) throws -> [CensusRow] {
        try census.map { kind, count in
            guard let name = names[kind.type] else {
                throw EvstoreError.corruptBlock(position: .start, reason: "the census counts the type \(kind.type), which has no name")
            }
            return CensusRow(type: name, born: SchemaVersion(rawValue: kind.born), count: count)
        }.sorted { ($0.type, $0.born) < ($1.type, $1.born) }
    }
}

/// The key under which a caller's id is looked up: a UUID itself, or a hash of any other text. With a hash the record's own id decides.
struct IDKey: Hashable, Comparable, Sendable {
    let kind: UInt8
    let high: UInt64
    let low: UInt64

    init(kind: UInt8, high: UInt64, low: UInt64) { (self.kind, self.high, self.low) = (kind, high, low) }

    private static let bytes = 17
    static let uuid: UInt8 = 1
    static let text: UInt8 = 2

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.bytes)
        bytes.append(kind)
        for word in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
        }
        return bytes
    }

    /// Decodes the key of a row; nil where the length is wrong.
    init?(row key: RawSpan) {
        guard key.byteCount == Self.bytes else { return nil }
        self.init(kind: key.byte(at: 0), key.slice(1, Self.bytes - 1))
    }

    init(_ id: EventID) {
        if let uuid = id.uuid {
            self.init(kind: Self.uuid, high: uuid.0, low: uuid.1)
        } else {
            self.init(text: Array(id.text.utf8).lent)
        }
    }

    /// The key of a record whose id the caller gave.
    init(_ record: borrowing RecordView) {
        if record.flags & BlockLayout.Flag.idText == 0 {
            self.init(kind: Self.uuid, record.idBytes)
        } else {
            self.init(text: record.idBytes)
        }
    }

    private init(text: RawSpan) {
        var hasher = SHA256Hasher()
        hasher.update(text)
        self.init(kind: Self.text, hasher.finalize().bytes.lent)
    }

    private init(kind: UInt8, _ bytes: RawSpan) {
        self.init(kind: kind, high: bytes.load(UInt64.self, at: 0).byteSwapped, low: bytes.load(UInt64.self, at: 8).byteSwapped)
    }

    static func < (a: IDKey, b: IDKey) -> Bool { (a.kind, a.high, a.low) < (b.kind, b.high, b.low) }
}

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
