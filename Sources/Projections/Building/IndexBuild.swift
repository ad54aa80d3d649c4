internal import Bytes

extension RowIndexes {
    private static let pageRows = 8_192

    /// Fills the indexes of a generation whose rows are loaded: reads the rows once and loads their index entries in sorted runs of limited
    /// size. The first run is appended to the table; the entries of later runs are inserted in order.
    func fill(_ generation: Generation, bytes: Int, _ check: () throws -> Void) throws {
        guard let table = generation.indexes, !isEmpty else { return }
        var run = IndexRun(of: table)
        var making = EntryBuilder()
        var (range, isFirst) = (KeyRange.all, true)
        while true {
            try check()
            var (rows, last): (Int, [UInt8]?) = (0, nil)
            try generation.scan(range) { key, value in
                try forEachEntry(key, value, &making) { try run.append($0, $1) }
                rows += 1
                if rows == Self.pageRows { last = [UInt8](copying: key) }
                return rows < Self.pageRows
            }
            if last == nil || run.bytes > bytes {
                try run.load(into: generation, isFirst: isFirst, check)
                isFirst = false
            }
            guard let last else { return }
            range.leave(last, backwards: false)
        }
    }
}

/// Index entries in one buffer, in the form that they have in the table, and their order.
struct IndexRun: ~Copyable {
    /// Most comparisons are decided by the first eight bytes of the keys.
    private typealias Place = (prefix: UInt64, offset: Int)

    private let table: CheckedTable
    /// The entries in the format of a `SortedRun`.
    private var entries = ByteBuffer(capacity: 1 << 12)
    private var places: [Place] = []

    private static let loadEntries = 65_536

    init(of table: CheckedTable) { self.table = table }

    /// The approximate memory use in bytes.
    var bytes: Int { entries.count + places.count * MemoryLayout<Place>.stride }

    mutating func append(_ key: RawSpan, _ text: RawSpan) throws {
        let start = entries.count
        places.append((key.prefix, start))
        try table.writeRow(key, text, to: &entries)
    }

    /// Writes the entries to the table in key order and clears the run.
    /// - Parameter isFirst: whether the table is empty.
    mutating func load(into generation: Generation, isFirst: Bool, _ check: () throws -> Void) throws {
        Self.sort(&places, entries)
        for start in stride(from: 0, to: places.count, by: Self.loadEntries) {
            try check()
            try Self.load(places[start ..< min(start + Self.loadEntries, places.count)], entries, table, generation, isFirst: isFirst)
        }
        places.removeAll(keepingCapacity: true)
        entries.removeAll()
    }

    private static func sort(_ places: inout [Place], _ entries: borrowing ByteBuffer) {
        let bytes = entries.bytes
        places.sort { a, b in
            if a.prefix != b.prefix { return a.prefix < b.prefix }
            return key(bytes, a.offset).compare(key(bytes, b.offset)) < 0
        }
    }

    /// LMDB may run a transaction again with a larger map.
    private static func load(
        _ places: ArraySlice<Place>, _ entries: borrowing ByteBuffer, _ table: CheckedTable, _ generation: Generation, isFirst: Bool
    ) throws {
        let bytes = entries.bytes
        try generation.write { transaction in
            for place in places {
                let key = key(bytes, place.offset)
                let value = value(bytes, place.offset)
                if isFirst {
                    try table.append(key, written: value, &transaction)
                } else {
                    try table.put(key, written: value, &transaction)
                }
            }
        }
    }

    @_lifetime(copy bytes)
    private static func key(_ bytes: RawSpan, _ offset: Int) -> RawSpan {
        bytes.slice(offset + 8, Int(bytes.load(UInt32.self, at: offset)))
    }

    @_lifetime(copy bytes)
    private static func value(_ bytes: RawSpan, _ offset: Int) -> RawSpan {
        let keyCount = Int(bytes.load(UInt32.self, at: offset))
        return bytes.slice(offset + 8 + keyCount, Int(bytes.load(UInt32.self, at: offset + 4)))
    }
}
