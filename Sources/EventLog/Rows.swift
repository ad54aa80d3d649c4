internal import Bytes
internal import EventModel
internal import LMDB

/// The catalogues' rows, as owned copies.
enum Rows {
    static func get(_ key: [UInt8], _ transaction: borrowing ReadTransaction, _ table: Table) throws -> [UInt8]? {
        guard let value = try transaction.get(table, key.lent) else { return nil }
        return [UInt8](copying: value)
    }

    static func all(
        _ prefix: [UInt8], _ transaction: borrowing ReadTransaction, _ table: Table
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        var rows: [(key: [UInt8], value: [UInt8])] = []
        var cursor = try transaction.cursor(table)
        var isThere = prefix.isEmpty ? try cursor.first() : try cursor.seek(prefix.lent)
        while isThere {
            let key = [UInt8](copying: cursor.key)
            guard key.starts(with: prefix) else { break }
            rows.append((key, [UInt8](copying: cursor.value)))
            isThere = try cursor.next()
        }
        return rows
    }

    /// LMDB takes keys of 1 to 511 bytes.
    static func check(_ key: [UInt8], _ catalogue: Catalogue) throws {
        guard (1 ... 511).contains(key.count) else {
            throw EvstoreError.misuse("a key of \(catalogue) has \(key.count) bytes; 1 to 511 are possible")
        }
    }
}
