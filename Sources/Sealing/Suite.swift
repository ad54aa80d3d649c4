internal import Bytes
internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

/// A cipher that encrypts and authenticates. Each key encrypts only one text: this room derives a key for each.
package enum Suite: UInt8, CaseIterable, Sendable {
    /// AES-256 in CBC mode (NIST SP 800-38A, padded as in RFC 5652, 6.3), then HMAC-SHA256 (RFC 2104) over associated
    /// data, vector, cipher text and the length of the associated data, as RFC 7518, 5.2 composes them. Every store
    /// opens it; a store writes it only where its creator asks for it.
    case cbcWithHMAC = 1
    /// AES-256-GCM (NIST SP 800-38D). The nonce is zero, which is sound where a key is used once.
    case gcm = 2

    var vectorBytes: Int { self == .gcm ? 0 : 16 }
    var tagBytes: Int { self == .gcm ? 16 : 32 }

    private static let nonce = Result { try AES.GCM.Nonce(data: nonceBytes) }
    private static let nonceBytes = [UInt8](repeating: 0, count: 12)
    private static let cipherKey = Array("cipher".utf8)
    private static let authenticationKey = Array("authentication".utf8)

    /// Appends the cipher text and its tag.
    /// - Parameter vector: `vectorBytes` random bytes.
    func seal(_ plain: RawSpan, _ key: SecretKey, vector: RawSpan, _ associated: RawSpan, into target: inout ByteBuffer) throws(SealError) {
        do {
            switch self {
            case .gcm:
                let box = try unsafe plain.withUnsafeBytes { plain in
                    try unsafe associated.withUnsafeBytes { associated in
                        try unsafe AES.GCM.seal(plain, using: key.symmetric, nonce: Self.nonce.get(), authenticating: associated)
                    }
                }
                target.append(box.ciphertext)
                target.append(box.tag)
            case .cbcWithHMAC:
                let cipher = key.derived(salt: [], info: Self.cipherKey)
                let iv = try AES._CBC.IV(ivBytes: [UInt8](copying: vector))
                let text = try [UInt8](AES._CBC.encrypt([UInt8](copying: plain), using: cipher.symmetric, iv: iv))
                target.append(text)
                let authenticated = Self.authenticated(associated, vector, text.lent)
                target.append(Array(HMAC<SHA256>.authenticationCode(for: authenticated, using: Self.mac(key))))
            }
        } catch { throw .limit("these bytes can't be sealed: \(error)") }
    }

    /// Appends the plain text.
    /// - Parameter sealed: cipher text and tag.
    /// - Throws: `SealError.broken` where anything differs from what was sealed.
    func open(
        _ sealed: RawSpan, _ key: SecretKey, vector: RawSpan, _ associated: RawSpan, into target: inout ByteBuffer
    ) throws(SealError) {
        guard sealed.byteCount >= tagBytes else { throw .broken("it is too short for what is sealed") }
        do {
            switch self {
            case .gcm:
                // The fastest form in the library: nonce, text and tag in one piece.
                let box = try AES.GCM.SealedBox(combined: Self.nonceBytes + [UInt8](copying: sealed))
                target.append(
                    try unsafe associated.withUnsafeBytes { try unsafe AES.GCM.open(box, using: key.symmetric, authenticating: $0) })
            case .cbcWithHMAC:
                let text = sealed.slice(0, sealed.byteCount - tagBytes)
                let authenticated = Self.authenticated(associated, vector, text)
                let tag = [UInt8](copying: sealed.slice(text.byteCount, tagBytes))
                // Order: authenticated before anything is decrypted.
                guard HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: authenticated, using: Self.mac(key)) else {
                    throw CryptoKitError.authenticationFailure
                }
                let cipher = key.derived(salt: [], info: Self.cipherKey)
                let iv = try AES._CBC.IV(ivBytes: [UInt8](copying: vector))
                target.append(try AES._CBC.decrypt([UInt8](copying: text), using: cipher.symmetric, iv: iv))
            }
        } catch { throw .broken("its tag does not fit") }
    }

    /// Cipher text and tag of a wrapped key, by a suite without a vector.
    func seal(_ plain: [UInt8], _ key: SecretKey, _ associated: [UInt8]) throws(SealError) -> [UInt8] {
        var sealed = ByteBuffer(capacity: plain.count + tagBytes)
        try seal(plain.lent, key, vector: [UInt8]().lent, associated.lent, into: &sealed)
        return sealed.array()
    }

    /// Unwraps such a key.
    /// - Throws: `SealError.broken`.
    func open(_ sealed: RawSpan, _ key: SecretKey, _ associated: RawSpan) throws(SealError) -> [UInt8] {
        var plain = ByteBuffer(capacity: sealed.byteCount)
        try open(sealed, key, vector: RawSpan(), associated, into: &plain)
        return plain.array()
    }

    private static func mac(_ key: SecretKey) -> SymmetricKey { key.derived(salt: [], info: authenticationKey).symmetric }

    private static func authenticated(_ associated: RawSpan, _ vector: RawSpan, _ text: RawSpan) -> [UInt8] {
        let bits = UInt64(associated.byteCount) * 8
        return [UInt8](copying: associated) + [UInt8](copying: vector) + [UInt8](copying: text)
            + (0 ..< 8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - $0 * 8)) }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ data: Data) { unsafe data.withUnsafeBytes { unsafe append($0.bytes) } }
}
