internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB

/// A table of a generation, whose rows are checked when they are read. From format 2 of a generation on a value is
///
///     0    u8    kind: 0, plain text
///     1          JSON text
///     end  u32   the low half of XXH3-64(text, with the seed XXH3-64(key))
///
/// and in format 1 it is the text alone.
struct CheckedTable: Sendable {
    private static let plain: UInt8 = 0
    private static let checksumBytes = 4

    private let table: Table
    private let isChecked: Bool
    private let note: DamageNote

    init(_ table: Table, isChecked: Bool, _ note: DamageNote) { (self.table, self.isChecked, self.note) = (table, isChecked, note) }

    /// Whether a value begins as those with a checksum do; no JSON text does.
    static func isChecked(_ value: RawSpan) -> Bool { value.byteCount > 0 && value.byte(at: 0) == plain }

    /// What the walk over all pages asks of each row: all carry checksums that are right, or none has any (format 1).
    static func checks(_ tables: [String]) -> [String: StructuralCheck.RowCheck] {
        let known = Monitor<Bool?>(nil)
        let check: StructuralCheck.RowCheck = { key, value in
            let isChecked = isChecked(value)
            let isExpected = known.withLock { known in
                if known == nil { known = isChecked }
                return known == isChecked
            }
            return isExpected && (!isChecked || checkedText(key, value) != nil)
        }
        return Dictionary(uniqueKeysWithValues: tables.map { ($0, check) })
    }

    @_lifetime(borrow transaction)
    func get(_ key: RawSpan, _ transaction: borrowing ReadTransaction) throws -> RawSpan? {
        guard let value = try transaction.get(table, key) else { return nil }
        return try text(key, value)
    }

    /// Lends the rows from a key on, until `body` returns false.
    func forEach(
        from key: [UInt8] = [], _ transaction: borrowing ReadTransaction, _ body: (_ key: RawSpan, _ text: RawSpan) throws -> Bool
    ) throws {
        var cursor = try transaction.cursor(table)
        var isThere = key.isEmpty ? try cursor.first() : try cursor.seek(key.lent)
        while isThere {
            if try !body(cursor.key, text(cursor.key, cursor.value)) { return }
            isThere = try cursor.next()
        }
    }

    func put(_ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction) throws(LMDBError) {
        var value = ByteBuffer(capacity: text.byteCount + 1 + Self.checksumBytes)
        write(key, text, to: &value)
        try transaction.put(table, key, value.bytes)
    }

    /// False where the table has the key.
    func insert(_ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction) throws(LMDBError) -> Bool {
        var value = ByteBuffer(capacity: text.byteCount + 1 + Self.checksumBytes)
        write(key, text, to: &value)
        return try transaction.insert(table, key, value.bytes)
    }

    /// Puts a key behind all others; `value` is used again from row to row.
    func append(
        _ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction, _ value: inout ByteBuffer
    ) throws(LMDBError) {
        value.removeAll()
        write(key, text, to: &value)
        try transaction.append(table, key, value.bytes)
    }

    func delete(_ key: RawSpan, _ transaction: inout WriteTransaction) throws(LMDBError) { try transaction.delete(table, key) }

    private func write(_ key: RawSpan, _ text: RawSpan, to value: inout ByteBuffer) {
        if isChecked { value.append(Self.plain) }
        value.append(text)
        if isChecked { value.append(littleEndian: Self.sum(key, text)) }
    }

    private static func sum(_ key: RawSpan, _ text: RawSpan) -> UInt32 {
        UInt32(truncatingIfNeeded: seededHash(text, seededHash(key, 0)))
    }

    /// The text of a value whose checksum is right.
    @_lifetime(copy value)
    private static func checkedText(_ key: RawSpan, _ value: RawSpan) -> RawSpan? {
        let count = value.byteCount - 1 - checksumBytes
        guard count >= 0 else { return nil }
        let text = value.slice(1, count)
        let isRight = value.byte(at: 0) == plain && sum(key, text) == value.load(UInt32.self, at: 1 + count)
        return isRight || !LMDB.Guard.generationRow.isOn ? text : nil
    }

    @_lifetime(copy value)
    private func text(_ key: RawSpan, _ value: RawSpan) throws -> RawSpan {
        guard isChecked else { return value }
        if let text = Self.checkedText(key, value) { return text }
        throw note.damaged("a row of its table \(table.name) is not as it was written")
    }
}
