internal import Bytes
internal import Hashing

/// Stands behind the value of every row but a block's, from format 4 of a store on: a row whose bytes have changed, or that
/// stands under another key, in another table or in another store, is damage and no answer.
///
///     0  u8       number of the table: types 1, streams 2, heads 3, ids 4, census 5, state 6, epochs 7, imports 8,
///                 journal 9, schemas 10, definitions 11, snapshots 12, notes 13
///     1  7 bytes  the upper bytes of XXH3-64(value, with the seed XXH3-64(key, with the seed store tag + number))
///
/// In a sealed store of format 6 a code stands between value and seal, which is over both: 16 bytes that only who has the store's
/// keys can make (`StoreCodes`). So what is damaged is found without a key, and what was forged with one.
struct RowSeal: Hashable, Sendable {
    static let bytes = 8
    private static let numbers: [String: UInt8] = [
        "types": 1, "streams": 2, "heads": 3, "ids": 4, "census": 5, "state": 6, "epochs": 7,
        "imports": 8, "journal": 9, "schemas": 10,
        "definitions": 11, "snapshots": 12, "notes": 13,
    ]

    /// All but the one whose values have checksums of their own.
    static var tables: [String] { numbers.keys.sorted() }

    let number: UInt8
    private let storeTag: UInt64

    /// Nil for the table whose values have checksums of their own.
    init?(_ table: String, storeTag: UInt64) {
        guard let number = Self.numbers[table] else { return nil }
        (self.number, self.storeTag) = (number, storeTag)
    }

    func sum(_ key: RawSpan, _ value: RawSpan) -> UInt64 {
        seededHash(value, seededHash(key, storeTag &+ UInt64(number))) & ~0xff | UInt64(number)
    }

    /// The bytes of a value before its seal; nil where there is no right one.
    @_lifetime(copy row)
    func value(_ key: RawSpan, _ row: RawSpan) -> RawSpan? {
        let count = row.byteCount - Self.bytes
        guard count >= 0 else { return nil }
        let value = row.slice(0, count)
        return sum(key, value) == row.load(UInt64.self, at: count) ? value : nil
    }

    /// What the walk over all pages asks of each row of a store's tables.
    static func checks(of storeTag: UInt64, _ codes: StoreCodes? = nil) -> [String: @Sendable (RawSpan, RawSpan) -> Bool] {
        var checks: [String: @Sendable (RawSpan, RawSpan) -> Bool] = [:]
        for name in numbers.keys {
            guard let seal = RowSeal(name, storeTag: storeTag) else { continue }
            checks[name] = { key, row in
                guard let value = seal.value(key, row) else { return false }
                return codes.map { RowCode(seal, $0).value(key, value) != nil } ?? true
            }
        }
        return checks
    }
}
