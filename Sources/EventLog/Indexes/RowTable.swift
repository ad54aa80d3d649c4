internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Platform
internal import Sealing

/// A table of the log whose rows are checked when they are read: every table except `blocks`.
package struct RowTable: Sendable {
    private let table: Table
    /// Nil in stores of the formats before 4.
    private let rowChecksum: RowChecksum?
    /// Nil in stores without codes, and where the caller has no keys.
    private let code: RowCode?
    private let hasCodes: Bool

    init(_ table: Table, _ descriptor: TableDescriptor, _ store: StoreIdentity, _ codes: StoreCodes?) {
        self.table = table
        let rowChecksum = store.hasRowChecksums ? RowChecksum(descriptor, storeTag: store.id.tag) : nil
        (self.rowChecksum, hasCodes) = (rowChecksum, store.hasCodes)
        code = codes.flatMap { codes in rowChecksum.map { RowCode($0, codes) } }
    }

    package var name: String { table.name }

    @_lifetime(borrow transaction)
    package func get(_ key: RawSpan, _ transaction: borrowing ReadTransaction) throws -> RawSpan? {
        guard let row = try transaction.get(table, key) else { return nil }
        return try value(key, row)
    }

    /// Lends the rows from a key on, or from the last one backwards, until `body` returns false.
    /// - Parameter proving: whether the rows' codes are checked; false where the caller compares the rows with the log, which proves more.
    package func forEach(
        from key: [UInt8] = [], backwards: Bool = false, proving: Bool = true, _ transaction: borrowing ReadTransaction,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        var cursor = transaction.cursor(table)
        var isThere = try backwards ? cursor.last() : key.isEmpty ? cursor.first() : cursor.seek(key.lent)
        while isThere {
            if try !body(cursor.key, value(cursor.key, cursor.value, proving: proving)) { return }
            isThere = try backwards ? cursor.previous() : cursor.next()
        }
    }

    func lastKey(_ transaction: borrowing ReadTransaction) throws -> [UInt8]? {
        var cursor = transaction.cursor(table)
        guard try cursor.last() else { return nil }
        _ = try value(cursor.key, cursor.value)
        return [UInt8](copying: cursor.key)
    }

    package func count(_ transaction: borrowing ReadTransaction) throws -> Int {
        try transaction.count(table)
    }

    package func put(_ key: RawSpan, _ value: RawSpan, _ transaction: inout WriteTransaction) throws {
        guard let rowChecksum else { return try transaction.put(table, key, value) }
        var row = ByteBuffer(capacity: value.byteCount + RowCode.bytes + RowChecksum.bytes)
        if let code {
            code.append(key, value, to: &row)
        } else {
            precondition(!hasCodes, "writing rows with codes needs the store's keys")
            row.append(value)
        }
        let sum = rowChecksum.sum(key, row.bytes)
        row.append(littleEndian: sum)
        try transaction.put(table, key, row.bytes)
    }

    package func delete(_ key: RawSpan, _ transaction: inout WriteTransaction) throws {
        try transaction.delete(table, key)
    }

    func removeAll(_ transaction: inout WriteTransaction) throws { try transaction.removeAll(table) }

    @_lifetime(copy row)
    private func value(_ key: RawSpan, _ row: RawSpan, proving: Bool = true) throws -> RawSpan {
        guard let rowChecksum else { return row }
        if let value = rowChecksum.value(key, row) { return try proven(key, value, by: proving ? code : nil) }
        if !Guard.rowChecksum.isOn, row.byteCount >= RowChecksum.bytes { return row.slice(0, row.byteCount - RowChecksum.bytes) }
        throw EvstoreError.corruptBlock(
            position: .start, reason: "the checksum of a row of the table \(table.name) does not fit")
    }

    @_lifetime(copy value)
    private func proven(_ key: RawSpan, _ value: RawSpan, by code: RowCode?) throws -> RawSpan {
        guard hasCodes else { return value }
        if let value = code == nil ? RowCode.unproven(value) : code?.value(key, value) { return value }
        throw EvstoreError.corruptBlock(
            position: .start,
            reason: "the code of a row of the table \(table.name) is not one that the store's keys make: "
                + "somebody else has written it")
    }
}

/// Reads and writes rows of the catalogues, as owned copies.
package enum Rows {
    package static func get(_ key: [UInt8], _ transaction: borrowing ReadTransaction, _ table: RowTable) throws -> [UInt8]? {
        guard let value = try table.get(key.lent, transaction) else { return nil }
        return [UInt8](copying: value)
    }

    /// The rows whose keys begin with a prefix, in the order of their keys: those from `start` on where it is given, at most `limit`.
    package static func all(
        _ prefix: [UInt8], _ transaction: borrowing ReadTransaction, _ table: RowTable, from start: [UInt8]? = nil, limit: Int = .max
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        var rows: [(key: [UInt8], value: [UInt8])] = []
        if limit <= 0 { return rows }
        try table.forEach(from: start ?? prefix, transaction) { key, value in
            let key = [UInt8](copying: key)
            guard key.starts(with: prefix) else { return false }
            rows.append((key, [UInt8](copying: value)))
            return rows.count < limit
        }
        return rows
    }

    package static func count(_ prefix: [UInt8], _ transaction: borrowing ReadTransaction, _ table: RowTable) throws -> UInt64 {
        var count: UInt64 = 0
        try table.forEach(from: prefix, transaction) { key, _ in
            guard key.byteCount >= prefix.count, key.slice(0, prefix.count).equals(prefix.lent) else { return false }
            count += 1
            return true
        }
        return count
    }

    /// Adds a row under the next free number.
    package static func append(_ value: [UInt8], to table: RowTable, _ transaction: inout WriteTransaction) throws {
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

/// The checksum behind the value of every row except blocks, from format 4 of a store on: a row whose bytes have changed, or that is under
/// another key, in another table or in another store, is reported as damage.
///
///     0  u8       number of the table, as its `TableDescriptor` has it
///     1  7 bytes  the upper bytes of XXH3-64(value, with the seed XXH3-64(key, with the seed store tag + number))
///
/// In a sealed store of format 6 a code stands between value and checksum, and the checksum covers both. Making the code takes the store's
/// keys (`StoreCodes`), 16 bytes long. So damage is found without a key, and forgery with one.
package struct RowChecksum: Hashable, Sendable {
    package static let bytes = 8
    let number: UInt8
    private let storeTag: UInt64

    /// Nil for the table whose values have checksums of their own.
    package init?(_ table: TableDescriptor, storeTag: UInt64) {
        guard let number = table.number else { return nil }
        (self.number, self.storeTag) = (number, storeTag)
    }

    package func sum(_ key: RawSpan, _ value: RawSpan) -> UInt64 {
        seededHash(value, seededHash(key, storeTag &+ UInt64(number))) & ~0xff | UInt64(number)
    }

    /// The bytes of a value before its checksum; nil where the checksum is wrong.
    @_lifetime(copy row)
    package func value(_ key: RawSpan, _ row: RawSpan) -> RawSpan? {
        let count = row.byteCount - Self.bytes
        guard count >= 0 else { return nil }
        let value = row.slice(0, count)
        return sum(key, value) == row.load(UInt64.self, at: count) ? value : nil
    }
}

/// The code behind the value of every row of a sealed store, from format 6 on, and before its `RowChecksum`: HMAC-SHA256, truncated to 16
/// bytes, of table, key and value, under a key derived from the store's keys.
package struct RowCode: Sendable {
    package static let bytes = Authenticator.codeBytes
    private let number: UInt64
    private let codes: Authenticator

    /// - Parameter checksum: that of the table; the code uses its number.
    package init(_ checksum: RowChecksum, _ codes: StoreCodes) { (number, self.codes) = (UInt64(checksum.number), codes.rows) }

    func append(_ key: RawSpan, _ value: RawSpan, to row: inout ByteBuffer) {
        row.append(value)
        codes.appendCode(of: place(key).bytes, value, to: &row)
    }

    /// The bytes of a value before its code; nil where the code is wrong.
    @_lifetime(copy row)
    package func value(_ key: RawSpan, _ row: RawSpan) -> RawSpan? {
        guard let value = Self.unproven(row) else { return nil }
        let code = row.slice(value.byteCount, Self.bytes)
        return codes.isCode(code, of: place(key).bytes, value) || !Guard.rowCode.isOn ? value : nil
    }

    /// The bytes of a value before its code, which is not checked: for a caller without a key.
    @_lifetime(copy row)
    package static func unproven(_ row: RawSpan) -> RawSpan? { row.byteCount < bytes ? nil : row.slice(0, row.byteCount - bytes) }

    private func place(_ key: RawSpan) -> ByteBuffer {
        var place = ByteBuffer(capacity: 8 + key.byteCount)
        place.append(littleEndian: number + UInt64(key.byteCount) << 8)
        place.append(key)
        return place
    }
}
