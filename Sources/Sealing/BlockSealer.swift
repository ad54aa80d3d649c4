package import Bytes

/// Seals what is secret in all records of a block in one envelope: one key is derived for all of them.
///
/// The envelope is that of a record (`Envelope`) with 2 as its format. Its body has the bodies of the records, one after the other: each the
/// four lengths, then the parts. It is compressed where there is one record alone: the length of a text that is compressed with another's
/// tells something of that one.
package struct BlockSealer: ~Copyable {
    private static let format: UInt8 = 2
    private var sealer = BodySealer()

    package init() {}

    /// How many bytes an envelope takes at most.
    package static func bytesMax(ofBody count: Int, _ suite: Suite) -> Int {
        // A block cipher in CBC mode fills up its last block, or adds one.
        Envelope.headerBytes + count + suite.tagBytes + (suite.vectorBytes == 0 ? 0 : suite.vectorBytes + 16)
    }

    /// Appends an envelope.
    /// - Parameter associated: bytes that must be the same when the envelope is opened; the first 32 name the block's place.
    /// - Throws: `SealError.limit`.
    package mutating func seal(
        _ body: RawSpan, ofOne isOne: Bool, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        sealer.body.removeAll()
        sealer.body.append(body)
        let kind = BodySealer.Kind(format: Self.format, isPacked: isOne)
        try sealer.seal(kind, under: key, associated, BodySealer.Randomness(for: key.suite), into: &target)
    }

    /// Opens an envelope, and appends its body.
    /// - Throws: `SealError.broken` where a bit differs from what was sealed, there or in `associated`.
    package mutating func open(
        _ envelope: RawSpan, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        try sealer.open(envelope, format: Self.format, under: key, associated, atLeast: Envelope.lengthsBytes)
        Self.append(sealer.body, to: &target)
    }

    private static func append(_ body: borrowing ByteBuffer, to target: inout ByteBuffer) { target.append(body.bytes) }
}
