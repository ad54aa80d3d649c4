internal import Bytes
internal import Hashing

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
