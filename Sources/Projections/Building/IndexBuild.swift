internal import Bytes
internal import LMDB

/// Fills the indexes of a generation whose rows are loaded: reads them once, and loads their entries in sorted runs of so many bytes of
/// memory. The first run is appended; the entries of each further one are put between those that are there, in their order.
struct IndexBuild {
    private let indexes: RowIndexes
    private let bytes: Int
    private let check: () throws -> Void

    /// Of an entry in memory: two arrays, and what allocating them costs.
    private static let entryBytes = 112
    /// Rows of one read transaction, and entries of one write transaction.
    private static let (pageRows, loadEntries) = (8_192, 65_536)

    init(_ indexes: RowIndexes, bytes: Int, check: @escaping () throws -> Void) {
        (self.indexes, self.bytes, self.check) = (indexes, bytes, check)
    }

    func fill(_ generation: Generation) throws {
        guard let table = generation.indexes, !indexes.isEmpty else { return }
        var (run, runBytes, isFirst) = ([RowIndexes.Entry](), 0, true)
        var range = KeyRange.all
        while true {
            try check()
            let rows = try generation.page(range, limit: Self.pageRows)
            for row in rows {
                for entry in indexes.entries(row.key.lent, row.value.lent) {
                    run.append(entry)
                    runBytes += entry.key.count + entry.text.count + Self.entryBytes
                }
            }
            let isLast = rows.count < Self.pageRows
            if isLast || runBytes > bytes {
                try load(&run, into: table, of: generation, isFirst: isFirst)
                (run, runBytes, isFirst) = ([], 0, false)
            }
            guard !isLast, let last = rows.last else { return }
            range.leave(last.key, backwards: false)
        }
    }

    private func load(_ run: inout [RowIndexes.Entry], into table: CheckedTable, of generation: Generation, isFirst: Bool) throws {
        run.sort()
        for start in stride(from: 0, to: run.count, by: Self.loadEntries) {
            try check()
            let part = run[start ..< min(start + Self.loadEntries, run.count)]
            // LMDB may run it again with a larger map.
            try generation.write { transaction in
                for entry in part {
                    if !isFirst {
                        try table.put(entry.key.lent, entry.text.lent, &transaction)
                        continue
                    }
                    var value = ByteBuffer(capacity: 8)
                    try table.write(entry.key.lent, entry.text.lent, to: &value)
                    try table.append(entry.key.lent, written: value.bytes, &transaction)
                }
            }
        }
    }
}
