internal import Bytes

/// Names a store for as long as it exists: 16 random bytes, written as hexadecimal text.
package struct StoreID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// Nil unless there are exactly 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Nil unless the text is 32 hexadecimal digits.
    package init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text) else { return nil }
        self.init(bytes)
    }

    /// A new one, from the system's random numbers.
    package static func make() -> StoreID {
        var generator = SystemRandomNumberGenerator()
        return StoreID(random: (0 ..< 16).map { _ in UInt8.random(in: 0 ... 255, using: &generator) })
    }

    private init(random bytes: [UInt8]) { self.bytes = bytes }

    /// The part of the id in every block, so that blocks of different stores are never mixed up.
    package var tag: UInt64 { bytes.lent.load(UInt64.self, at: 0) }

    package var description: String { hex(bytes) }
}
