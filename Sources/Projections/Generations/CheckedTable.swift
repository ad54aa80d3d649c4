internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// The tables of a generation, declared once. They are all of one kind, so a name is enough: keys in the order of their bytes, rows
/// that are checked and, in a store whose events are sealed, sealed; `Generation.checkPages` looks at all of them, and after a cut
/// that took what it has consumed the generation goes as a whole.
enum GenerationTable: String, CaseIterable {
    case rows, meta, quarantine
    /// Entries of `RowIndexes`: of generations whose projection declares indexes, and whose rows are not sealed, since keys never are.
    case indexes

    /// Every table's name, and whether its keys are integers: what there may be in the file.
    static var kinds: [String: Bool] { Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, false) }) }
}

/// A table of a generation, whose rows are checked when they are read. From format 2 of a generation on a value is
///
///     0    u8   kind: 0 plain (format 2), 2 sealed (format 4), 1 sealed under a key made of the master key (format 3)
///     1         plain: JSON text; sealed: what `ValueSealer` makes of it, bound to the row's key
///     end  u32  the low half of XXH3-64(the bytes from 1 on, with the seed XXH3-64(key))
///
/// and in format 1 it is the text alone. The checksum stands in sealed values too: the walk over all pages has no keys.
struct CheckedTable: Sendable {
    private static let checksumBytes = 4

    private let table: Table
    private let format: Int
    private let sealer: ValueSealer?
    private let note: DamageNote

    /// - Parameter keys: of the generation, where its format is that of sealed ones.
    init(_ table: GenerationTable, of environment: Environment, format: Int, _ keys: ModelKeys?, _ note: DamageNote) throws(StorageError) {
        (self.table, self.format, self.note) = (try environment.table(table.rawValue), format, note)
        sealer = keys?.sealer(ofTable: table.rawValue)
    }

    /// The format of the generation that has such a value; JSON text begins with neither kind.
    static func format(of value: RawSpan) -> Int {
        switch value.byteCount > 0 ? value.byte(at: 0) : .max {
        case 0: 2
        case 1: 3
        case 2: GenerationHeader.sealedFormat
        default: 1
        }
    }

    /// The checks of rows that the walk over all pages makes: all rows are of one format, and checksums, where there are any, are right.
    static func checks() -> [String: StructuralCheck.RowCheck] {
        let known = Monitor<Int?>(nil)
        let check: StructuralCheck.RowCheck = { key, value in
            let format = format(of: value)
            let isExpected = known.withLock { known in
                if known == nil { known = format }
                return known == format
            }
            return isExpected && (format == 1 || body(key, value) != nil)
        }
        return Dictionary(uniqueKeysWithValues: GenerationTable.allCases.map { ($0.rawValue, check) })
    }

    // MARK: Reading

    /// Whether what `find` gives must be opened.
    var isSealed: Bool { sealer != nil }

    /// A row's text as it lies there, or its envelope.
    @_lifetime(borrow transaction)
    func find(_ key: RawSpan, _ transaction: borrowing ReadTransaction) throws -> RawSpan? {
        guard let value = try transaction.get(table, key) else { return nil }
        return try checked(key, value)
    }

    /// Appends the text in an envelope that `find` gave.
    func open(_ envelope: RawSpan, _ key: RawSpan, into text: inout ByteBuffer) throws {
        do throws(SealError) { try sealer?.open(envelope, key, into: &text) } catch { throw damaged() }
    }

    /// Lends a row's text; nil where there is none.
    func get<R>(_ key: RawSpan, _ transaction: borrowing ReadTransaction, _ body: (_ text: RawSpan) throws -> R) throws -> R? {
        guard let found = try find(key, transaction) else { return nil }
        if !isSealed { return try body(found) }
        var text = ByteBuffer()
        try open(found, key, into: &text)
        return try body(text.bytes)
    }

    /// Lends the rows of a range in the order of their keys, or from its end to its beginning, until `body` returns false.
    func forEach(
        in range: KeyRange = .all, backwards: Bool = false, _ transaction: borrowing ReadTransaction,
        _ body: (_ key: RawSpan, _ text: RawSpan) throws -> Bool
    ) throws {
        if range.isEmpty { return }
        var text = ByteBuffer()
        var cursor = transaction.cursor(table)
        var isThere: Bool
        if backwards {
            // The first key that is behind the range, where there is one, follows its last.
            let isEndBehind = try range.upper.map { try cursor.seek($0.lent) } ?? false
            isThere = isEndBehind ? try cursor.previous() : try cursor.last()
        } else {
            isThere = range.lower.isEmpty ? try cursor.first() : try cursor.seek(range.lower.lent)
        }
        while isThere, backwards ? range.begins(atOrBefore: cursor.key) : range.ends(behind: cursor.key) {
            if try !lend(cursor.key, cursor.value, &text, body) { return }
            isThere = backwards ? try cursor.previous() : try cursor.next()
        }
    }

    private func lend(
        _ key: RawSpan, _ value: RawSpan, _ text: inout ByteBuffer, _ body: (_ key: RawSpan, _ text: RawSpan) throws -> Bool
    ) throws -> Bool {
        let found = try checked(key, value)
        if !isSealed { return try body(key, found) }
        text.removeAll()
        try open(found, key, into: &text)
        return try body(key, text.bytes)
    }

    @_lifetime(copy value)
    private func checked(_ key: RawSpan, _ value: RawSpan) throws -> RawSpan {
        if format == 1 { return value }
        guard Self.format(of: value) == format || !Platform.Guard.generationRow.isOn, let body = Self.body(key, value) else {
            throw damaged()
        }
        return body
    }

    /// What stands between kind and checksum; nil where that is wrong.
    @_lifetime(copy value)
    private static func body(_ key: RawSpan, _ value: RawSpan) -> RawSpan? {
        let count = value.byteCount - 1 - checksumBytes
        guard count >= 0 else { return nil }
        let body = value.slice(1, count)
        let isRight = sum(key, body) == value.load(UInt32.self, at: 1 + count)
        return isRight || !Platform.Guard.generationRow.isOn ? body : nil
    }

    private static func sum(_ key: RawSpan, _ body: RawSpan) -> UInt32 {
        UInt32(truncatingIfNeeded: seededHash(body, seededHash(key, 0)))
    }

    private func damaged() -> EvstoreError { note.damaged("a row of its table \(table.name) is not as it was written") }

    /// How many rows it has.
    func count(_ transaction: borrowing ReadTransaction) throws -> UInt64 { UInt64(try transaction.count(table)) }

    // MARK: Writing

    /// Appends the value of a row to a buffer, as it is put into the table.
    func write(_ key: RawSpan, _ text: RawSpan, to value: inout ByteBuffer) throws(EvstoreError) {
        if format == 1 { return value.append(text) }
        let start = value.count + 1
        value.append(UInt8(format - 2))
        if let sealer {
            do throws(SealError) { try sealer.seal(text, key, into: &value) } catch {
                throw .misuse("a row can't be sealed: \(error.reason)")
            }
        } else {
            value.append(text)
        }
        let sum = Self.sum(key, value.slice(start, value.count - start))
        value.append(littleEndian: sum)
    }

    func put(_ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction) throws {
        let value = try value(key, text)
        try transaction.put(table, key, value.bytes)
    }

    /// False where the table has the key.
    func insert(_ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction) throws -> Bool {
        let value = try value(key, text)
        return try transaction.insert(table, key, value.bytes)
    }

    /// Appends a key that sorts after all others, with a value that `write` has made.
    func append(_ key: RawSpan, written value: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) {
        try transaction.append(table, key, value)
    }

    /// Puts a value that `write` has made.
    func put(_ key: RawSpan, written value: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) {
        try transaction.put(table, key, value)
    }

    func delete(_ key: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) { try transaction.delete(table, key) }

    private func value(_ key: RawSpan, _ text: RawSpan) throws(EvstoreError) -> ByteBuffer {
        var value = ByteBuffer(capacity: text.byteCount + 1 + ValueSealer.addedBytes + Self.checksumBytes)
        try write(key, text, to: &value)
        return value
    }
}
