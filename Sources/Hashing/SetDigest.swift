internal import Bytes

/// The digest of a set of rows: the sum, modulo 2^256, of SHA-256(key length || key || value).
///
/// A sum does not depend on the order in which rows were written and follows each change, so a
/// read model's digest is the same however it was built (Bellare and Micciancio's AdHash).
package struct SetDigest: Hashable, Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    package init() {}

    package init(_ digest: Digest) {
        let bytes = digest.bytes
        func word(_ index: Int) -> UInt64 {
            (0 ..< 8).reduce(0) { $0 | UInt64(bytes[index * 8 + $1]) << UInt64($1 * 8) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    package mutating func insert(key: RawSpan, value: RawSpan) { add(Self.row(key, value)) }

    package mutating func remove(key: RawSpan, value: RawSpan) { subtract(Self.row(key, value)) }

    /// Adds another set's rows to this one's.
    package mutating func formUnion(_ other: SetDigest) { add(other) }

    package var digest: Digest {
        var bytes: [UInt8] = []
        for word in [words.0, words.1, words.2, words.3] {
            for shift in 0 ..< 8 { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
        }
        return Digest(bytes) ?? .zero
    }

    package static func == (a: SetDigest, b: SetDigest) -> Bool { a.words == b.words }

    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

    private static func row(_ key: RawSpan, _ value: RawSpan) -> SetDigest {
        // Hashed in one piece: each piece costs the hasher more than the bytes of a row.
        var row = ByteBuffer(capacity: 8 + key.byteCount + value.byteCount)
        row.append(littleEndian: UInt64(key.byteCount))
        row.append(key)
        row.append(value)
        var digest = SetDigest()
        digest.words = SHA256Hasher.words(of: row.bytes)
        return digest
    }

    private mutating func add(_ other: SetDigest) {
        var carry = false
        func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
            let (first, over) = a.addingReportingOverflow(b)
            let (second, more) = first.addingReportingOverflow(carry ? 1 : 0)
            carry = over || more
            return second
        }
        words.0 = sum(words.0, other.words.0)
        words.1 = sum(words.1, other.words.1)
        words.2 = sum(words.2, other.words.2)
        words.3 = sum(words.3, other.words.3)
    }

    private mutating func subtract(_ other: SetDigest) {
        var borrow = false
        func difference(_ a: UInt64, _ b: UInt64) -> UInt64 {
            let (first, under) = a.subtractingReportingOverflow(b)
            let (second, more) = first.subtractingReportingOverflow(borrow ? 1 : 0)
            borrow = under || more
            return second
        }
        words.0 = difference(words.0, other.words.0)
        words.1 = difference(words.1, other.words.1)
        words.2 = difference(words.2, other.words.2)
        words.3 = difference(words.3, other.words.3)
    }
}
