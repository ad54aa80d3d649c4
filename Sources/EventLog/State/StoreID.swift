internal import Bytes

/// Identifies a store for as long as it exists: 16 random bytes, written as hexadecimal text.
package struct StoreID: Hashable, Sendable, CustomStringConvertible {
    /// The part of the id that is in every block, so that blocks of different stores are never mixed up: the first eight bytes.
    package let tag: UInt64
    private let rest: UInt64

    /// Nil unless there are exactly 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (tag, rest) = (bytes.lent.load(UInt64.self, at: 0), bytes.lent.load(UInt64.self, at: 8))
    }

    /// Nil unless the text is 32 hexadecimal digits.
    package init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text) else { return nil }
        self.init(bytes)
    }

    /// A new id, from the system's random numbers.
    package static func make() -> StoreID { StoreID(tag: .random(in: .min ... .max), rest: .random(in: .min ... .max)) }

    private init(tag: UInt64, rest: UInt64) { (self.tag, self.rest) = (tag, rest) }

    package var bytes: [UInt8] {
        var row = ByteBuffer(capacity: 16)
        append(to: &row)
        return row.array()
    }

    func append(to row: inout ByteBuffer) {
        row.append(littleEndian: tag)
        row.append(littleEndian: rest)
    }

    package var description: String { hex(bytes) }
}
