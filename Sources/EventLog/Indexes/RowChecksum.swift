internal import Bytes
internal import Hashing
internal import Platform
internal import Sealing

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

    /// Appends a value and its code.
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
