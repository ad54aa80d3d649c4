internal import Bytes
internal import Platform
internal import Sealing

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
