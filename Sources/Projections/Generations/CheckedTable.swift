internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// All tables of a generation. They are all of one kind, so that a name describes each: keys in bytewise order, and rows with checksums,
/// which are sealed if the store's events are sealed. `Generation.checkPages` checks all of them. If a cut removes events that a generation
/// has consumed, the whole generation is discarded.
enum GenerationTable: String, CaseIterable {
    case rows, meta, quarantine
    /// The entries of `RowIndexes`. Exists only where a projection declares indexes and its rows are not sealed: keys never are.
    case indexes

    /// The name of every table that the file may contain, and whether its keys are integers.
    static var kinds: [String: Bool] { Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, false) }) }
}

/// A table of a generation whose rows are verified when they are read. From format 2 of a generation on, a value is
///
///     0    u8   kind: 0 plain (format 2), 2 sealed (format 4), 1 sealed under a key derived from the master key (format 3)
///     1         plain: JSON text; sealed: the output of `ValueSealer`, bound to the row's key
///     end  u32  the low half of XXH3-64(the bytes from 1 on, with the seed XXH3-64(key))
///
/// In format 1, it is only the text. Sealed values have the checksum too, since the check of all pages has no keys.
struct CheckedTable: Sendable {
    private static let checksumBytes = 4

    private let table: Table
    private let format: Int
    private let sealer: ValueSealer?
    private let note: DamageNote

    /// - Parameter keys: the keys of the generation, if its format is sealed.
    init(_ table: GenerationTable, of environment: Environment, format: Int, _ keys: ModelKeys?, _ note: DamageNote) throws(StorageError) {
        (self.table, self.format, self.note) = (try environment.table(table.rawValue), format, note)
        sealer = keys?.sealer(ofTable: table.rawValue)
    }

    /// The format of the generation that contains such a value; JSON text begins with neither of these kinds.
    static func format(of value: RawSpan) -> Int {
        switch value.byteCount > 0 ? value.byte(at: 0) : .max {
        case 0: 2
        case 1: 3
        case 2: GenerationHeader.sealedFormat
        default: 1
        }
    }

    /// The row checks that the structural check of all pages uses: all rows must have one format, and checksums, if any, must be correct.
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

    /// Whether results of `find` must be opened.
    var isSealed: Bool { sealer != nil }

    /// A row's text as stored, or its envelope if it is sealed.
    @_lifetime(borrow transaction)
    func find(_ key: RawSpan, _ transaction: borrowing ReadTransaction) throws -> RawSpan? {
        guard let value = try transaction.get(table, key) else { return nil }
        return try checked(key, value)
    }

    /// Appends the text inside an envelope that `find` returned.
    func open(_ envelope: RawSpan, _ key: RawSpan, into text: inout ByteBuffer) throws {
        do throws(SealError) { try sealer?.open(envelope, key, into: &text) } catch { throw damaged() }
    }

    func get<R>(_ key: RawSpan, _ transaction: borrowing ReadTransaction, _ body: (_ text: RawSpan) throws -> R) throws -> R? {
        guard let found = try find(key, transaction) else { return nil }
        if !isSealed { return try body(found) }
        var text = ByteBuffer()
        try open(found, key, into: &text)
        return try body(text.bytes)
    }

    /// Lends the rows of a range in key order, or in reverse order, until `body` returns false.
    func forEach(
        in range: KeyRange = .all, backwards: Bool = false, _ transaction: borrowing ReadTransaction,
        _ body: (_ key: RawSpan, _ text: RawSpan) throws -> Bool
    ) throws {
        if range.isEmpty { return }
        var text = ByteBuffer()
        var cursor = transaction.cursor(table)
        var isThere: Bool
        if backwards {
            // If a key after the range exists, the last key of the range directly precedes it.
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

    /// The bytes between kind and checksum; nil if the checksum is wrong.
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

    func count(_ transaction: borrowing ReadTransaction) throws -> UInt64 { UInt64(try transaction.count(table)) }

    // MARK: Writing

    /// Appends the value of a row, in the form that it has in the table, to a buffer.
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

    /// Returns false if the table already has the key.
    func insert(_ key: RawSpan, _ text: RawSpan, _ transaction: inout WriteTransaction) throws -> Bool {
        let value = try value(key, text)
        return try transaction.insert(table, key, value.bytes)
    }

    /// Appends a key that sorts after all others, with a value made by `write`.
    func append(_ key: RawSpan, written value: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) {
        try transaction.append(table, key, value)
    }

    /// Writes a value made by `write`.
    func put(_ key: RawSpan, written value: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) {
        try transaction.put(table, key, value)
    }

    /// Returns false if the table does not have the key.
    @discardableResult
    func delete(_ key: RawSpan, _ transaction: inout WriteTransaction) throws(StorageError) -> Bool { try transaction.delete(table, key) }

    private func value(_ key: RawSpan, _ text: RawSpan) throws(EvstoreError) -> ByteBuffer {
        var value = ByteBuffer(capacity: text.byteCount + 1 + ValueSealer.addedBytes + Self.checksumBytes)
        try write(key, text, to: &value)
        return value
    }
}

/// A range of row keys in bytewise order, from a lower bound (inclusive) to an upper bound (exclusive).
package struct KeyRange: Hashable, Sendable {
    /// The lower bound; empty if the range begins with the first key.
    private(set) var lower: [UInt8]
    /// The upper bound; nil if the range has no end.
    private(set) var upper: [UInt8]?

    package static let all = KeyRange()

    /// The keys that begin with `prefix`, are at or after `from`, and are before `to`.
    package init(prefix: String? = nil, from: String? = nil, to: String? = nil) {
        let prefix = Array((prefix ?? "").utf8)
        let (from, to) = (Array((from ?? "").utf8), to.map { Array($0.utf8) })
        lower = Self.cut(from.lexicographicallyPrecedes(prefix) ? prefix : from)
        let ends = [Self.end(ofPrefix: prefix), to.map(Self.cut)].compactMap(\.self)
        upper = ends.min { $0.lexicographicallyPrecedes($1) }
    }

    /// A range with bounds that are already truncated.
    init(lower: [UInt8], upper: [UInt8]?) { (self.lower, self.upper) = (lower, upper) }

    /// Removes a key and all keys before it; if the range is walked backwards, removes the key and all keys after it.
    package mutating func leave(_ key: [UInt8], backwards: Bool) {
        if backwards {
            if upper.map({ key.lexicographicallyPrecedes($0) }) ?? true { upper = key }
        } else if !key.lexicographicallyPrecedes(lower) {
            lower = key + [0]
        }
    }

    var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }

    /// Whether a key is at or after the lower bound, and before the upper bound.
    func begins(atOrBefore key: RawSpan) -> Bool { key.compare(lower.lent) >= 0 }
    func ends(behind key: RawSpan) -> Bool { upper.map { key.compare($0.lent) < 0 } ?? true }

    /// The maximum length of a key in LMDB.
    package static let keyBytesMax = 511

    /// A truncated bound that separates valid keys like the original one: no key is long enough to begin with a longer bound.
    private static func cut(_ bound: [UInt8]) -> [UInt8] {
        bound.count > keyBytesMax ? bound.prefix(keyBytesMax) + [0] : bound
    }

    /// The smallest bound after all texts with a prefix; nil if there is none. UTF-8 contains no byte 255.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.last else { return nil }
        return cut(prefix.dropLast() + [last + 1])
    }
}
