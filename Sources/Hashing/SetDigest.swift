internal import Bytes

/// The digest of a set of rows: the sum, modulo 2^256, of SHA-256(key length || key || value).
///
/// A sum does not depend on the order in which rows were written and follows each change, so a
/// read model's digest is the same however it was built (Bellare and Micciancio's AdHash).
package struct SetDigest: Hashable, Sendable {
    /// The sum, a number of 256 bits, little-endian.
    package private(set) var digest: Digest

    package init(_ digest: Digest = .zero) { self.digest = digest }

    package mutating func insert(key: RawSpan, value: RawSpan) { add(Self.row(key, value)) }

    package mutating func remove(key: RawSpan, value: RawSpan) { subtract(Self.row(key, value)) }

    /// Adds another set's rows to this one's.
    package mutating func formUnion(_ other: SetDigest) { add(other.digest) }

    private static func row(_ key: RawSpan, _ value: RawSpan) -> Digest {
        // Hashed in one piece: each piece costs the hasher more than the bytes of a row.
        var row = ByteBuffer(capacity: 8 + key.byteCount + value.byteCount)
        row.append(littleEndian: UInt64(key.byteCount))
        row.append(key)
        row.append(value)
        return SHA256Hasher.hash(row.bytes)
    }

    private mutating func add(_ other: Digest) {
        let (low, carries) = digest.low.addingReportingOverflow(other.low)
        digest = Digest(low: low, high: digest.high &+ other.high &+ (carries ? 1 : 0))
    }

    private mutating func subtract(_ other: Digest) {
        let (low, borrows) = digest.low.subtractingReportingOverflow(other.low)
        digest = Digest(low: low, high: digest.high &- other.high &- (borrows ? 1 : 0))
    }
}
