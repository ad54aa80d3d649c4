package import Bytes

/// Seals and opens the parts of records; reuses its buffers.
package struct RecordSealer: ~Copyable {
    /// How many of the first authenticated bytes name the record's place: the key is derived from them too.
    package static let placeBytes = 32

    private var body = ByteBuffer()
    private var packing = Packing()

    package init() {}

    /// The random bytes of one envelope: 16 of the salt, and 16 of which a suite takes those of its vector.
    struct Randomness {
        var salt = SecretKey.salt()
        var vector = SecretKey.salt()
    }

    /// Appends an envelope.
    /// - Parameter associated: bytes that must be the same when the envelope is opened: at least the place.
    /// - Throws: `SealError.limit` where the parts are more than one record holds.
    package mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        try seal(parts, under: key, associated, Randomness(), into: &target)
    }

    /// Tests give what is random elsewhere, and so compare with the envelopes that another program has made.
    mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, _ randomness: Randomness, into target: inout ByteBuffer
    ) throws(SealError) {
        let (metadata, shadow, personal) = (parts.metadata.byteCount, parts.shadow.byteCount, parts.personal.byteCount)
        body.removeAll()
        for count in [parts.payload.byteCount, metadata, shadow, personal] { body.append(littleEndian: UInt32(count)) }
        body.append(parts.payload)
        body.append(parts.metadata)
        body.append(parts.shadow)
        body.append(parts.personal)
        guard body.count <= Envelope.bodyBytesMax else { throw .limit("\(body.count) bytes are more than one record holds") }
        let packed = packing.pack(body)
        let start = target.count
        target.append(Envelope.format)
        target.append(key.suite.rawValue)
        target.append(packed == nil ? 0 : 1)
        target.append(
            (metadata == 0 ? 0 : Envelope.Part.metadata) | (shadow == 0 ? 0 : Envelope.Part.shadow)
                | (personal == 0 ? 0 : Envelope.Part.personal))
        target.append(littleEndian: key.id)
        target.append(littleEndian: UInt32(body.count))
        target.append(randomness.salt)
        let vector = Array(randomness.vector.prefix(key.suite.vectorBytes))
        let (text, tag) = try key.suite.seal(
            packed ?? body.array(), Self.key(key, randomness.salt, associated), vector: vector,
            Self.authenticated(associated, target.slice(start, Envelope.headerBytes)))
        target.append(vector)
        target.append(text)
        target.append(tag)
    }

    /// Opens an envelope and appends its parts, one after the other; returns their sizes.
    /// - Throws: `SealError.broken` where a bit differs from what was sealed, there or in `associated`.
    package mutating func open(
        _ envelope: RawSpan, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) -> OpenedParts {
        guard envelope.byteCount >= Envelope.headerBytes, envelope.byte(at: 0) == Envelope.format else {
            throw .broken("it is in no format that this program knows")
        }
        guard let suite = Suite(rawValue: envelope.byte(at: 1)), envelope.byte(at: 2) <= 1,
            envelope.byte(at: 3) & ~Envelope.Part.known == 0
        else { throw .broken("it was sealed in a way that this program does not know") }
        let bodyBytes = Int(envelope.load(UInt32.self, at: 8))
        let textStart = Envelope.headerBytes + suite.vectorBytes
        let textBytes = envelope.byteCount - textStart - suite.tagBytes
        guard envelope.load(UInt32.self, at: 4) == key.id, suite == key.suite, textBytes >= 0,
            (Envelope.lengthsBytes ... Envelope.bodyBytesMax).contains(bodyBytes)
        else { throw .broken("its header is not one") }
        let text = try suite.open(
            [UInt8](copying: envelope.slice(textStart, textBytes)),
            tag: [UInt8](copying: envelope.slice(textStart + textBytes, suite.tagBytes)),
            Self.key(key, [UInt8](copying: envelope.slice(12, 16)), associated),
            vector: [UInt8](copying: envelope.slice(Envelope.headerBytes, suite.vectorBytes)),
            Self.authenticated(associated, envelope.slice(0, Envelope.headerBytes)))
        let plain = envelope.byte(at: 2) == 0 ? text : try packing.unpack(text, count: bodyBytes)
        guard plain.count == bodyBytes else { throw .broken("its body has another length than it says") }
        let lengths = (0 ..< 4).map { Int(plain.lent.load(UInt32.self, at: $0 * 4)) }
        guard lengths.reduce(Envelope.lengthsBytes, +) == bodyBytes else {
            throw .broken("its parts do not add up to its body")
        }
        target.append(plain.lent.slice(Envelope.lengthsBytes, bodyBytes - Envelope.lengthsBytes))
        return OpenedParts(payload: lengths[0], metadata: lengths[1], shadow: lengths[2], personal: lengths[3])
    }

    private static func key(_ key: DataKey, _ salt: [UInt8], _ associated: RawSpan) -> SecretKey {
        key.key.derived(salt: salt, info: [UInt8](copying: associated.slice(0, placeBytes)))
    }

    private static func authenticated(_ associated: RawSpan, _ header: RawSpan) -> [UInt8] {
        [UInt8](copying: associated) + [UInt8](copying: header)
    }
}
