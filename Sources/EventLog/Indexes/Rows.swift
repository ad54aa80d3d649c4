internal import Bytes
internal import EventModel
package import LMDB

/// Reads and writes rows of the catalogues, as owned copies.
package enum Rows {
    package static func get(_ key: [UInt8], _ transaction: borrowing ReadTransaction, _ table: RowTable) throws -> [UInt8]? {
        guard let value = try table.get(key.lent, transaction) else { return nil }
        return [UInt8](copying: value)
    }

    package static func all(
        _ prefix: [UInt8], _ transaction: borrowing ReadTransaction, _ table: RowTable, limit: Int = .max
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        var rows: [(key: [UInt8], value: [UInt8])] = []
        if limit <= 0 { return rows }
        try table.forEach(from: prefix, transaction) { key, value in
            let key = [UInt8](copying: key)
            guard key.starts(with: prefix) else { return false }
            rows.append((key, [UInt8](copying: value)))
            return rows.count < limit
        }
        return rows
    }

    /// Adds a row under the next free number.
    static func append(_ value: [UInt8], to table: RowTable, _ transaction: inout WriteTransaction) throws {
        let last = try table.lastKey(transaction.reads).map { $0.count == 8 ? $0.lent.load(UInt64.self, at: 0).byteSwapped : .max } ?? 0
        guard last < Position.largest.rawValue else { throw Indexes.damaged(table.name) }
        try table.put(sortable(last + 1).lent, value.lent, &transaction)
    }

    /// Checks the limits of LMDB, which takes keys of 1 to 511 bytes.
    static func check(_ key: [UInt8], _ catalogue: Catalogue) throws {
        guard (1 ... 511).contains(key.count) else {
            throw EvstoreError.misuse("a key of \(catalogue) has \(key.count) bytes; 1 to 511 are possible")
        }
    }
}
