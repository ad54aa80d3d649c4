package import Bytes

/// Seals and opens the parts of records; reuses its buffers.
package struct RecordSealer: ~Copyable {
    /// How many of the first authenticated bytes name the record's place: the key is derived from them too.
    package static let placeBytes = 32

    private var body = ByteBuffer()
    /// What is authenticated beside the body.
    private var associated = ByteBuffer()
    private var packing = Packing()

    package init() {}

    /// The random bytes of one envelope.
    struct Randomness {
        let salt: [UInt8]
        /// At least as many as the suite's vector has.
        let vector: [UInt8]
    }

    /// Appends an envelope.
    /// - Parameter associated: bytes that must be the same when the envelope is opened: at least the place.
    /// - Throws: `SealError.limit` where the parts are more than one record holds.
    package mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        let random = Randomness(salt: SecretKey.salt(), vector: key.suite.vectorBytes == 0 ? [] : SecretKey.salt())
        try seal(parts, under: key, associated, random, into: &target)
    }

    /// Tests give what is random elsewhere, and so compare with the envelopes that another program has made.
    mutating func seal(
        _ parts: borrowing PlainParts, under key: DataKey, _ associated: RawSpan, _ randomness: Randomness, into target: inout ByteBuffer
    ) throws(SealError) {
        let (metadata, shadow, personal) = (parts.metadata.byteCount, parts.shadow.byteCount, parts.personal.byteCount)
        body.removeAll()
        body.append(littleEndian: UInt32(parts.payload.byteCount))
        body.append(littleEndian: UInt32(metadata))
        body.append(littleEndian: UInt32(shadow))
        body.append(littleEndian: UInt32(personal))
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
        let vector = randomness.vector.lent.slice(0, key.suite.vectorBytes)
        target.append(vector)
        authenticate(associated, target.slice(start, Envelope.headerBytes))
        let own = Self.key(key, randomness.salt.lent, associated)
        if let packed {
            try key.suite.seal(packed.lent, own, vector: vector, self.associated.bytes, into: &target)
        } else {
            try key.suite.seal(body.bytes, own, vector: vector, self.associated.bytes, into: &target)
        }
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
        guard envelope.load(UInt32.self, at: 4) == key.id, suite == key.suite,
            envelope.byteCount >= Envelope.headerBytes + suite.vectorBytes + suite.tagBytes,
            (Envelope.lengthsBytes ... Envelope.bodyBytesMax).contains(bodyBytes)
        else { throw .broken("its header is not one") }
        authenticate(associated, envelope.slice(0, Envelope.headerBytes))
        body.removeAll()
        let sealed = envelope.slice(Envelope.headerBytes, envelope.byteCount - Envelope.headerBytes)
        try Self.open(sealed, suite, Self.key(key, envelope.slice(12, 16), associated), self.associated, into: &body)
        if envelope.byte(at: 2) != 0 {
            let plain = try packing.unpack(body.array(), count: bodyBytes)
            body.removeAll()
            body.append(plain)
        }
        guard body.count == bodyBytes else { throw .broken("its body has another length than it says") }
        return try Self.take(body, into: &target)
    }

    private static func open(
        _ sealed: RawSpan, _ suite: Suite, _ key: SecretKey, _ associated: borrowing ByteBuffer, into body: inout ByteBuffer
    ) throws(SealError) {
        let (vector, text) = (sealed.slice(0, suite.vectorBytes), sealed.slice(suite.vectorBytes, sealed.byteCount - suite.vectorBytes))
        try suite.open(text, key, vector: vector, associated.bytes, into: &body)
    }

    /// Appends the parts of a body.
    private static func take(_ body: borrowing ByteBuffer, into target: inout ByteBuffer) throws(SealError) -> OpenedParts {
        let text = body.bytes
        let parts = OpenedParts(
            payload: Int(text.load(UInt32.self, at: 0)), metadata: Int(text.load(UInt32.self, at: 4)),
            shadow: Int(text.load(UInt32.self, at: 8)), personal: Int(text.load(UInt32.self, at: 12)))
        guard Envelope.lengthsBytes + parts.payload + parts.metadata + parts.shadow + parts.personal == body.count else {
            throw .broken("its parts do not add up to its body")
        }
        target.append(text.slice(Envelope.lengthsBytes, body.count - Envelope.lengthsBytes))
        return parts
    }

    private static func key(_ key: DataKey, _ salt: RawSpan, _ associated: RawSpan) -> SecretKey {
        key.key.derived(salt: salt, info: associated.slice(0, placeBytes))
    }

    private mutating func authenticate(_ place: RawSpan, _ header: RawSpan) {
        associated.removeAll()
        associated.append(place)
        associated.append(header)
    }
}
