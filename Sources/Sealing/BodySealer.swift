package import Bytes

/// Seals and opens the body of an envelope, of a record or of a block: all but the layout of the body. Its buffers are reused.
struct BodySealer: ~Copyable {
    /// The random bytes of one envelope.
    struct Randomness {
        let salt: [UInt8]
        /// At least as long as the suite's vector.
        let vector: [UInt8]

        init(salt: [UInt8], vector: [UInt8]) { (self.salt, self.vector) = (salt, vector) }

        init(for suite: Suite) { self.init(salt: SecretKey.salt(), vector: suite.vectorBytes == 0 ? [] : SecretKey.salt()) }
    }

    /// The fields of an envelope's header other than the key.
    struct HeaderFields {
        let format: UInt8
        /// The parts that are inside (`Envelope.PartFlag`).
        var parts: UInt8 = 0
        /// Whether the body is compressed if that makes it shorter.
        var isPacked = true
    }

    /// The body to seal, or the one that was opened.
    var body = ByteBuffer()
    /// The bytes that are authenticated together with the body.
    private var associated = ByteBuffer()
    private var packing = Packing()

    /// Appends the envelope of the body.
    /// - Parameter associated: bytes that must be equal when the envelope is opened; they begin with the place.
    /// - Throws: `SealError.limit` where the body is too long.
    mutating func seal(
        _ kind: HeaderFields, under key: DataKey, _ associated: RawSpan, _ randomness: Randomness, into target: inout ByteBuffer
    ) throws(SealError) {
        guard body.count <= Envelope.bodyBytesMax else { throw .limit("\(body.count) bytes are more than one record holds") }
        let packed = kind.isPacked ? packing.pack(body) : nil
        let start = target.count
        target.append(kind.format)
        target.append(key.suite.rawValue)
        target.append(packed == nil ? 0 : 1)
        target.append(kind.parts)
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

    /// Opens an envelope and leaves its body in `body`.
    /// - Parameter lengths: the bytes of the shortest valid body.
    /// - Throws: `SealError.broken` where a bit of the envelope or of `associated` differs from what was sealed.
    mutating func open(
        _ envelope: RawSpan, format: UInt8, under key: DataKey, _ associated: RawSpan, atLeast lengths: Int
    ) throws(SealError) {
        guard envelope.byteCount >= Envelope.headerBytes, envelope.byte(at: 0) == format else {
            throw .broken("it is in no format that this program knows")
        }
        guard let suite = Suite(rawValue: envelope.byte(at: 1)), envelope.byte(at: 2) <= 1,
            envelope.byte(at: 3) & ~Envelope.PartFlag.known == 0
        else { throw .broken("it was sealed in a way that this program does not know") }
        let bodyBytes = Int(envelope.load(UInt32.self, at: 8))
        guard envelope.load(UInt32.self, at: 4) == key.id, suite == key.suite,
            envelope.byteCount >= Envelope.headerBytes + suite.vectorBytes + suite.tagBytes,
            (lengths ... Envelope.bodyBytesMax).contains(bodyBytes)
        else { throw .broken("its header is invalid") }
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
    }

    private static func open(
        _ sealed: RawSpan, _ suite: Suite, _ key: SecretKey, _ associated: borrowing ByteBuffer, into body: inout ByteBuffer
    ) throws(SealError) {
        let (vector, text) = (sealed.slice(0, suite.vectorBytes), sealed.slice(suite.vectorBytes, sealed.byteCount - suite.vectorBytes))
        try suite.open(text, key, vector: vector, associated.bytes, into: &body)
    }

    private static func key(_ key: DataKey, _ salt: RawSpan, _ associated: RawSpan) -> SecretKey {
        key.key.derived(salt: salt, info: associated.slice(0, RecordSealer.placeBytes))
    }

    private mutating func authenticate(_ place: RawSpan, _ header: RawSpan) {
        associated.removeAll()
        associated.append(place)
        associated.append(header)
    }
}

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

/// Seals the secret parts of all records of a block in one envelope, so that one key is derived for all of them.
///
/// The envelope is that of a record (`Envelope`) with 2 as its format. Its body holds the bodies of the records, one after the other: each
/// has four lengths, then the parts. It is compressed only where there is a single record: the size of a text that is compressed together
/// with another one reveals something about that one.
package struct BlockSealer: ~Copyable {
    private static let format: UInt8 = 2
    private var sealer = BodySealer()

    package init() {}

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
