internal import Bytes
internal import Crypto

/// 32 bytes that name other bytes: a link, a content hash, a fingerprint.
package struct Digest: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Nil unless there are exactly 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Nil unless the text is 64 hexadecimal digits.
    package init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text) else { return nil }
        self.init(bytes)
    }

    fileprivate init(checked bytes: [UInt8]) { self.bytes = bytes }

    package static let zero = Digest(checked: [UInt8](repeating: 0, count: 32))

    package var hex: String { Bytes.hex(bytes) }
}

/// SHA-256 (FIPS 180-4) over bytes that come in pieces.
package struct SHA256Hasher {
    private var hasher = SHA256()

    package init() {}

    package mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) }
    }

    package mutating func update(_ bytes: [UInt8]) { update(bytes.lent) }

    package mutating func update(_ text: String) { update(Array(text.utf8)) }

    /// A 64-bit little-endian integer, so that fields of variable length can be told apart.
    package mutating func update(_ integer: UInt64) {
        var value = integer.littleEndian
        unsafe withUnsafeBytes(of: &value) { unsafe hasher.update(bufferPointer: $0) }
    }

    /// The digest of some bytes as four little-endian integers.
    static func words(of bytes: RawSpan) -> (UInt64, UInt64, UInt64, UInt64) {
        var hasher = SHA256()
        unsafe bytes.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) }
        let digest = hasher.finalize()
        return unsafe digest.withUnsafeBytes { bytes in
            func word(_ index: Int) -> UInt64 {
                UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            }
            return (word(0), word(1), word(2), word(3))
        }
    }

    package consuming func finalize() -> Digest { Digest(checked: Array(hasher.finalize())) }

    package static func hash(_ bytes: [UInt8]) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finalize()
    }

    package static func hash(_ text: String) -> Digest { hash(Array(text.utf8)) }
}
