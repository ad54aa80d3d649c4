internal import Crypto
internal import FoundationEssentials

/// Signatures of 64 bytes by keys of 32 (RFC 8032).
package enum Ed25519 {
    package static let keyBytes = 32
    package static let signatureBytes = 64

    /// Nil unless the seed has 32 bytes.
    package static func publicKey(ofSeed seed: [UInt8]) -> [UInt8]? {
        guard let key = key(seed) else { return nil }
        return [UInt8](key.publicKey.rawRepresentation)
    }

    /// Nil unless the seed has 32 bytes.
    package static func signature(of bytes: [UInt8], seed: [UInt8]) -> [UInt8]? {
        guard let key = key(seed) else { return nil }
        do { return [UInt8](try key.signature(for: bytes)) } catch { return nil }
    }

    /// False also where the key is invalid.
    package static func isValid(_ signature: [UInt8], of bytes: [UInt8], by key: [UInt8]) -> Bool {
        guard signature.count == signatureBytes, key.count == keyBytes else { return false }
        do {
            return try Curve25519.Signing.PublicKey(rawRepresentation: key).isValidSignature(signature, for: bytes)
        } catch { return false }
    }

    private static func key(_ seed: [UInt8]) -> Curve25519.Signing.PrivateKey? {
        do { return try Curve25519.Signing.PrivateKey(rawRepresentation: seed) } catch { return nil }
    }
}
