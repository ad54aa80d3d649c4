package import Bytes

/// Seals the secret parts of all records of a block in one envelope, so that one key is derived for all of them.
///
/// The envelope is that of a record (`Envelope`) with 2 as its format. Its body holds the bodies of the records, one after the other: each
/// has four lengths, then the parts. It is compressed only where there is a single record: the size of a text that is compressed together
/// with another one reveals something about that one.
package struct BlockSealer: ~Copyable {
    private static let format: UInt8 = 2
    private var sealer = BodySealer()

    package init() {}

    /// The most bytes that an envelope takes.
    package static func bytesMax(ofBody count: Int, _ suite: Suite) -> Int {
        // A block cipher in CBC mode pads the last block, or adds one.
        Envelope.headerBytes + count + suite.tagBytes + (suite.vectorBytes == 0 ? 0 : suite.vectorBytes + 16)
    }

    /// Appends an envelope.
    /// - Parameter associated: bytes that must be equal when the envelope is opened; the first 32 name the block's place.
    /// - Throws: `SealError.limit`.
    package mutating func seal(
        _ body: RawSpan, ofOne isOne: Bool, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        sealer.body.removeAll()
        sealer.body.append(body)
        let kind = BodySealer.HeaderFields(format: Self.format, isPacked: isOne)
        try sealer.seal(kind, under: key, associated, BodySealer.Randomness(for: key.suite), into: &target)
    }

    /// Opens an envelope and appends its body.
    /// - Throws: `SealError.broken` where a bit of the envelope or of `associated` differs from what was sealed.
    package mutating func open(
        _ envelope: RawSpan, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        try sealer.open(envelope, format: Self.format, under: key, associated, atLeast: Envelope.lengthsBytes)
        Self.append(sealer.body, to: &target)
    }

    private static func append(_ body: borrowing ByteBuffer, to target: inout ByteBuffer) { target.append(body.bytes) }
}
