package import Bytes
internal import CXXHash
internal import Crypto

/// 32 bytes that name other bytes: a link, a content hash, a fingerprint.
package struct Digest: Hashable, Sendable {
    package static let size = 32
    /// The bytes as little-endian integers.
    let low, high: UInt128

    /// Nil unless there are exactly 32 bytes.
    package init?(_ bytes: [UInt8]) { self.init(bytes.lent) }

    /// Nil unless there are exactly 32 bytes.
    package init?(_ bytes: RawSpan) {
        guard bytes.byteCount == Self.size else { return nil }
        self.init(checked: bytes)
    }

    /// Nil unless the text is 64 hexadecimal digits.
    package init?(hex text: String) {
        guard let bytes = Bytes.bytes(hex: text) else { return nil }
        self.init(bytes)
    }

    fileprivate init(checked bytes: RawSpan) {
        self.init(low: bytes.load(UInt128.self, at: 0), high: bytes.load(UInt128.self, at: 16))
    }

    init(low: UInt128, high: UInt128) { (self.low, self.high) = (low, high) }

    package static let zero = Digest(low: 0, high: 0)

    package var bytes: [UInt8] {
        var row = ByteBuffer(capacity: Self.size)
        append(to: &row)
        return row.array()
    }

    package func append(to row: inout ByteBuffer) {
        row.append(littleEndian: low)
        row.append(littleEndian: high)
    }

    /// Overwrites the 32 bytes at `offset` of the row.
    package func store(in row: inout ByteBuffer, at offset: Int) {
        row.store(littleEndian: low, at: offset)
        row.store(littleEndian: high, at: offset + 16)
    }

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

    package mutating func update(_ digest: Digest) {
        var words = (digest.low.littleEndian, digest.high.littleEndian)
        unsafe withUnsafeBytes(of: &words) { unsafe hasher.update(bufferPointer: $0) }
    }

    package mutating func update(_ text: String) { update(Array(text.utf8)) }

    /// Hashes a 64-bit little-endian integer, so that fields of variable length can be told apart.
    package mutating func update(_ integer: UInt64) {
        var value = integer.littleEndian
        unsafe withUnsafeBytes(of: &value) { unsafe hasher.update(bufferPointer: $0) }
    }

    package consuming func finalize() -> Digest {
        let digest = hasher.finalize()
        return unsafe digest.withUnsafeBytes { unsafe Digest(checked: $0.bytes) }
    }

    package static func hash(_ bytes: [UInt8]) -> Digest { hash(bytes.lent) }

    static func hash(_ bytes: RawSpan) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finalize()
    }

    package static func hash(_ text: String) -> Digest { hash(Array(text.utf8)) }
}

/// XXH3-64 (xxHash 0.8) of bytes: finds damage, proves nothing against an attacker.
package func checksum(_ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe xxh3_64($0.baseAddress, $0.count) }
}

/// XXH3-64 with a seed, for hash tables in memory: without the seed, nobody can choose keys that collide.
package func seededHash(_ bytes: RawSpan, _ seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe xxh3_64_seeded($0.baseAddress, $0.count, seed) }
}
