internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

/// A cipher that encrypts and authenticates. Each key encrypts one text alone: this room derives a key for each.
package enum Suite: UInt8, CaseIterable, Sendable {
    /// AES-256 in CBC mode (NIST SP 800-38A, padded as in RFC 5652, 6.3), then HMAC-SHA256 (RFC 2104) over associated
    /// data, vector, cipher text and the length of the associated data, as RFC 7518, 5.2 composes them. Every store
    /// opens it; a store writes it only where its creator asks for it.
    case cbcWithHMAC = 1
    /// AES-256-GCM (NIST SP 800-38D). The nonce is zero, which is sound where a key is used once.
    case gcm = 2

    package var name: String {
        switch self {
        case .cbcWithHMAC: "aes-256-cbc-hmac-sha256"
        case .gcm: "aes-256-gcm"
        }
    }

    package init?(name: String) {
        guard let suite = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = suite
    }

    var vectorBytes: Int { self == .gcm ? 0 : 16 }
    var tagBytes: Int { self == .gcm ? 16 : 32 }

    private static let nonce = [UInt8](repeating: 0, count: 12)
    private static let cipherKey = Array("cipher".utf8)
    private static let authenticationKey = Array("authentication".utf8)

    /// - Parameter vector: `vectorBytes` random bytes.
    func seal(_ plain: [UInt8], _ key: SecretKey, vector: [UInt8], _ associated: [UInt8]) throws(SealError) -> (text: [UInt8], tag: [UInt8])
    {
        do {
            switch self {
            case .gcm:
                let box = try AES.GCM.seal(
                    plain, using: key.symmetric, nonce: AES.GCM.Nonce(data: Self.nonce), authenticating: associated)
                return (Array(box.ciphertext), Array(box.tag))
            case .cbcWithHMAC:
                let cipher = key.derived(salt: [], info: Self.cipherKey)
                let text = try [UInt8](AES._CBC.encrypt(plain, using: cipher.symmetric, iv: AES._CBC.IV(ivBytes: vector)))
                return (
                    text, Array(HMAC<SHA256>.authenticationCode(for: Self.authenticated(associated, vector, text), using: Self.mac(key)))
                )
            }
        } catch { throw .limit("these bytes can't be sealed: \(error)") }
    }

    /// - Throws: `SealError.broken` where anything differs from what was sealed.
    func open(
        _ text: [UInt8], tag: [UInt8], _ key: SecretKey, vector: [UInt8], _ associated: [UInt8]
    ) throws(SealError) -> [UInt8] {
        do {
            switch self {
            case .gcm:
                let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: Self.nonce), ciphertext: text, tag: tag)
                return try [UInt8](AES.GCM.open(box, using: key.symmetric, authenticating: associated))
            case .cbcWithHMAC:
                let authenticated = Self.authenticated(associated, vector, text)
                // Order: nothing is decrypted that was not authenticated.
                guard HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: authenticated, using: Self.mac(key)) else {
                    throw CryptoKitError.authenticationFailure
                }
                let cipher = key.derived(salt: [], info: Self.cipherKey)
                return try [UInt8](AES._CBC.decrypt(text, using: cipher.symmetric, iv: AES._CBC.IV(ivBytes: vector)))
            }
        } catch { throw .broken("its tag does not fit") }
    }

    private static func mac(_ key: SecretKey) -> SymmetricKey { key.derived(salt: [], info: authenticationKey).symmetric }

    private static func authenticated(_ associated: [UInt8], _ vector: [UInt8], _ text: [UInt8]) -> [UInt8] {
        let bits = UInt64(associated.count) * 8
        return associated + vector + text + (0 ..< 8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - $0 * 8)) }
    }
}
