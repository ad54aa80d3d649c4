internal import Bytes
internal import Crypto
internal import Glibc

/// 32 secret bytes.
package struct SecretKey: Sendable {
    package static let byteCount = 32
    let symmetric: SymmetricKey

    init(_ symmetric: SymmetricKey) { self.symmetric = symmetric }

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        symmetric = SymmetricKey(data: bytes)
    }

    /// A key from the system's random numbers.
    package static func random() -> SecretKey { SecretKey(SymmetricKey(size: .bits256)) }

    /// Another key, derived from this one for one purpose: HKDF-SHA256 (RFC 5869).
    /// - Parameter salt: at most 64 bytes.
    package func derived(salt: [UInt8], info: [UInt8]) -> SecretKey { derived(salt: salt.lent, info: info.lent) }

    func derived(salt: RawSpan, info: RawSpan) -> SecretKey { SecretKey(KeyDerivation.derive(symmetric, salt: salt, info: info)) }

    package var bytes: [UInt8] { unsafe symmetric.withUnsafeBytes { unsafe Array($0) } }

    /// 16 random bytes, so that no salt is used twice.
    static func salt() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 16) { room, count in
            // A single system call, which never fails for so few bytes (getentropy(3)).
            guard let base = room.baseAddress, unsafe getentropy(base, 16) == 0 else { preconditionFailure("no random bytes") }
            count = 16
        }
    }
}
