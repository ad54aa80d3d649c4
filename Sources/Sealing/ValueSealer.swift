package import Bytes
internal import Crypto
internal import FoundationEssentials

/// Seals values that are written repeatedly in the same places, with AES-256-GCM (NIST SP 800-38D):
///
///     0    16  salt: random
///     16       cipher text, as long as the value
///     end  16  tag, over the cipher text and what was named with the value
///
/// The key of a value is HKDF-Expand-SHA256 (RFC 5869, 2.3) of the sealer's key and the salt. It is used once, with a nonce of zeros: a
/// counter would repeat after an older copy of its file is put back, and random nonces would limit how many values may be written under one
/// key.
package struct ValueSealer: Sendable {
    /// How many bytes a sealed value is longer than the value.
    package static let addedBytes = saltBytes + tagBytes

    private static let (saltBytes, tagBytes) = (16, 16)
    private let expanding: KeyedHash

    package init(_ key: SecretKey) { expanding = KeyedHash(key) }

    /// A sealer with a random key, for values that are only read while the sealer lives.
    package static func ephemeral() -> ValueSealer { ValueSealer(.random()) }

    /// Appends a sealed value.
    /// - Parameter place: bytes that must be equal when the value is opened; not empty.
    /// - Throws: `SealError.limit`.
    package func seal(_ value: RawSpan, _ place: RawSpan, into target: inout ByteBuffer) throws(SealError) {
        let start = target.count
        target.append(SecretKey.salt())
        let key = key(target.slice(start, Self.saltBytes))
        try Suite.gcm.seal(value, key, vector: value.slice(0, 0), place, into: &target)
    }

    /// Opens a sealed value and appends it.
    /// - Throws: `SealError.broken` where a bit of the value or of `place` differs from what was sealed.
    package func open(_ envelope: RawSpan, _ place: RawSpan, into target: inout ByteBuffer) throws(SealError) {
        guard envelope.byteCount >= Self.addedBytes else { throw .broken("it is too short for what is sealed") }
        let (salt, sealed) = (envelope.slice(0, Self.saltBytes), envelope.slice(Self.saltBytes, envelope.byteCount - Self.saltBytes))
        try Suite.gcm.open(sealed, key(salt), vector: salt.slice(0, 0), place, into: &target)
    }

    private func key(_ salt: RawSpan) -> SecretKey {
        let code = expanding.code { hasher in
            unsafe salt.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) }
            unsafe withUnsafeBytes(of: 1 as UInt8) { unsafe hasher.update(bufferPointer: $0) }
        }
        return SecretKey(SymmetricKey(data: code))
    }
}
