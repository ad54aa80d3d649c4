internal import Bytes

/// A key in its form on the disk; it is lost when these bytes are overwritten:
///
///     0   16  salt: random
///     16  32  the key, AES-256-GCM under HKDF-SHA256 (RFC 5869) of a key of the ring and the salt, authenticated with what is named
///             with it
///     48  16  its tag
package enum WrappedKey {
    package static let byteCount = 64

    static func bytes(of key: SecretKey, under wrapping: SecretKey, _ place: [UInt8]) throws(SealError) -> [UInt8] {
        let salt = SecretKey.salt()
        return salt + (try Suite.gcm.seal(key.bytes, wrapping.derived(salt: salt, info: []), place))
    }

    static func key(in bytes: RawSpan, under wrapping: SecretKey, _ place: RawSpan) throws(SealError) -> SecretKey {
        guard bytes.byteCount == byteCount else { throw .damaged("is missing") }
        let own = wrapping.derived(salt: bytes.slice(0, 16), info: RawSpan())
        do {
            guard let key = SecretKey(try Suite.gcm.open(bytes.slice(16, byteCount - 16), own, place)) else {
                throw SealError.broken("a key has another length")
            }
            return key
        } catch { throw .damaged("is not as it was written") }
    }
}

extension KeyRing {
    /// - Parameters:
    ///   - purpose: names the key of the ring that wraps the key.
    ///   - place: bytes that must be equal when the key is unwrapped.
    package func wrap(_ key: SecretKey, for purpose: String, _ place: [UInt8]) throws(SealError) -> [UInt8] {
        try WrappedKey.bytes(of: key, under: self.key(for: purpose), place)
    }

    /// - Throws: `SealError.damaged` where a bit of the wrapped key or of `place` differs.
    package func unwrap(_ bytes: [UInt8], for purpose: String, _ place: [UInt8]) throws(SealError) -> SecretKey {
        try WrappedKey.key(in: bytes.lent, under: key(for: purpose), place.lent)
    }
}
