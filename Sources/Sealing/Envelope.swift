package import Bytes

/// The envelope that takes the place of a sealed record's payload; metadata and shadow are inside it. Integers are little-endian.
///
///     0   u8   format, 1
///     1   u8   suite (`Suite`)
///     2   u8   packing: 0 none, 1 zstd
///     3   u8   parts inside beside the payload: 1 metadata, 2 shadow, 4 what a person may have forgotten
///     4   u32  number of the data key
///     8   u32  bytes of the body before packing
///     12  16   salt: random
///     28       initialization vector, random (16 bytes with CBC, none with GCM), cipher text, tag (32 or 16 bytes)
///
/// The body: u32 payload, u32 metadata, u32 shadow, u32 personal, each the bytes of a part; then the parts. The personal part is an
/// envelope of its own, under the key of a subject (`SubjectSlot`) and bound to the same place. It holds payload and shadow as they were
/// appended; the payload beside it is what stays when that key is gone.
///
/// The key is HKDF-SHA256 (RFC 5869) of the data key, the salt and the place. A position comes back after a cut or a restore, so only the
/// salt makes sure that no key is used twice. The place, the record around it and the first 28 bytes of the envelope are authenticated
/// together with the body.
package enum Envelope {
    static let format: UInt8 = 1
    package static let headerBytes = 28
    package static let lengthsBytes = 16
    /// The largest size of an event with all its shadows.
    package static let bodyBytesMax = 64 << 20

    enum PartFlag {
        static let metadata: UInt8 = 1
        static let shadow: UInt8 = 2
        static let personal: UInt8 = 4
        static let known: UInt8 = 7
    }

    /// The number of the data key that an envelope was sealed under; nil where it is too short for one.
    package static func keyID(of envelope: RawSpan) -> UInt32? {
        envelope.byteCount < headerBytes ? nil : envelope.load(UInt32.self, at: 4)
    }
}

/// The parts of a record as they are before it is sealed; each may be empty.
package struct PlainParts: ~Escapable {
    let payload, metadata, shadow: RawSpan
    /// An envelope of its own, under the key of a subject.
    let personal: RawSpan

    @_lifetime(copy payload, copy metadata, copy shadow, copy personal)
    package init(payload: RawSpan, metadata: RawSpan, shadow: RawSpan, personal: RawSpan) {
        self.payload = payload
        self.metadata = metadata
        self.shadow = shadow
        self.personal = personal
    }

    /// Appends the parts in the layout of a body: their lengths, then the parts.
    package func append(to body: inout ByteBuffer) {
        body.append(littleEndian: UInt32(payload.byteCount))
        body.append(littleEndian: UInt32(metadata.byteCount))
        body.append(littleEndian: UInt32(shadow.byteCount))
        body.append(littleEndian: UInt32(personal.byteCount))
        body.append(payload)
        body.append(metadata)
        body.append(shadow)
        body.append(personal)
    }

    /// The flags of the parts beside the payload, as an envelope's header has them.
    var marks: UInt8 {
        (metadata.byteCount == 0 ? 0 : Envelope.PartFlag.metadata) | (shadow.byteCount == 0 ? 0 : Envelope.PartFlag.shadow)
            | (personal.byteCount == 0 ? 0 : Envelope.PartFlag.personal)
    }
}

/// The bytes of each part of a record that was opened.
package struct OpenedParts: Hashable, Sendable {
    package let payload: Int
    package let metadata: Int
    package let shadow: Int
    package let personal: Int

    package static let none = OpenedParts(payload: 0, metadata: 0, shadow: 0, personal: 0)

    private init(payload: Int, metadata: Int, shadow: Int, personal: Int) {
        (self.payload, self.metadata, self.shadow, self.personal) = (payload, metadata, shadow, personal)
    }

    /// Reads the lengths of the body that begins here; nil where the body would be longer than the bytes.
    package init?(_ bytes: RawSpan) {
        guard bytes.byteCount >= Envelope.lengthsBytes else { return nil }
        self.init(
            payload: Int(bytes.load(UInt32.self, at: 0)), metadata: Int(bytes.load(UInt32.self, at: 4)),
            shadow: Int(bytes.load(UInt32.self, at: 8)), personal: Int(bytes.load(UInt32.self, at: 12)))
        if count > bytes.byteCount - Envelope.lengthsBytes { return nil }
    }

    package var count: Int { payload + metadata + shadow + personal }
}

/// A key that records are sealed under.
package struct DataKey: Sendable {
    package let id: UInt32
    package let suite: Suite
    package let key: SecretKey

    package init(id: UInt32, suite: Suite, _ key: SecretKey) { (self.id, self.suite, self.key) = (id, suite, key) }
}
