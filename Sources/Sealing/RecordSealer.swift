package import Bytes

/// Seals and opens the parts of records. Its buffers are reused.
package struct RecordSealer: ~Copyable {
    /// How many of the first authenticated bytes name the record's place; the key is derived from them too.
    package static let placeBytes = 32

    private var sealer = BodySealer()

    package init() {}

    /// Appends an envelope.
    /// - Parameter associated: bytes that must be equal when the envelope is opened: at least the place.
    /// - Throws: `SealError.limit` where the parts are too long for one record.
    package mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        try seal(parts, under: key, associated, BodySealer.Randomness(for: key.suite), into: &target)
    }

    /// Seals with given random bytes: tests compare the result with envelopes that another program has made.
    mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, _ randomness: BodySealer.Randomness,
        into target: inout ByteBuffer
    ) throws(SealError) {
        sealer.body.removeAll()
        parts.append(to: &sealer.body)
        try sealer.seal(
            BodySealer.HeaderFields(format: Envelope.format, parts: parts.marks), under: key, associated, randomness, into: &target)
    }

    /// Opens an envelope and appends its parts, one after the other; returns their sizes.
    /// - Throws: `SealError.broken` where a bit of the envelope or of `associated` differs from what was sealed.
    package mutating func open(
        _ envelope: RawSpan, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) -> OpenedParts {
        try sealer.open(envelope, format: Envelope.format, under: key, associated, atLeast: Envelope.lengthsBytes)
        return try Self.take(sealer.body, into: &target)
    }

    private static func take(_ body: borrowing ByteBuffer, into target: inout ByteBuffer) throws(SealError) -> OpenedParts {
        guard let parts = OpenedParts(body.bytes), Envelope.lengthsBytes + parts.count == body.count else {
            throw .broken("its parts do not add up to its body")
        }
        target.append(body.slice(Envelope.lengthsBytes, parts.count))
        return parts
    }
}
