internal import Crypto
internal import CryptoExtras

/// How a secret becomes the key of a slot. The cost that a key file asks for is checked against limits before any of it is spent.
package enum Stretching: Hashable, Sendable {
    /// None: the secret is 32 random bytes.
    case none
    /// scrypt (RFC 7914): N is two to the power of `logN`.
    case scrypt(logN: Int, r: Int, p: Int)
    /// PBKDF2 with HMAC-SHA256 (RFC 8018).
    case pbkdf2(rounds: Int)

    /// scrypt with 128 MiB, which takes some tenths of a second.
    package static let standard = Stretching.scrypt(logN: 17, r: 8, p: 1)
    package static let rounds = 600_000
    /// The largest cost of one slot, and of all slots of a file: it is spent before the file is authenticated.
    private static let (bytesMax, roundsMax) = (256 << 20, 2_000_000)
    private static let (allBytesMax, allRoundsMax) = (1 << 30, 8_000_000)

    package var name: String {
        switch self {
        case .none: "none"
        case .scrypt: "scrypt"
        case .pbkdf2: "pbkdf2-sha256"
        }
    }

    /// - Throws: `SealError.limit` where the stretching is too weak, or needs more time or memory than opening a store may take.
    package func check() throws(SealError) {
        switch self {
        case .none: return
        case .scrypt(let logN, let r, let p):
            guard (14 ... 20).contains(logN), (1 ... 16).contains(r), (1 ... 4).contains(p), cost.bytes <= Self.bytesMax else {
                throw .limit(
                    "scrypt takes N from 2^14 to 2^20, r to 16, p to 4 and at most 256 MiB of work, not N 2^\(logN), r \(r), p \(p)")
            }
        case .pbkdf2(let rounds):
            guard (210_000 ... Self.roundsMax).contains(rounds) else {
                throw .limit("PBKDF2 takes 210,000 to 2,000,000 rounds, not \(rounds)")
            }
        }
    }

    /// - Throws: `SealError.limit` where trying all slots needs more time than opening a store may take.
    static func check(all slots: [Stretching]) throws(SealError) {
        let costs = slots.map(\.cost)
        guard costs.reduce(0, { $0 + $1.bytes }) <= allBytesMax, costs.reduce(0, { $0 + $1.rounds }) <= allRoundsMax else {
            throw .limit("its slots ask for more than 1 GiB of scrypt or 8,000,000 rounds of PBKDF2 in all")
        }
    }

    /// The bytes that scrypt writes, or the rounds of PBKDF2.
    private var cost: (bytes: Int, rounds: Int) {
        switch self {
        case .none: (0, 0)
        case .scrypt(let logN, let r, let p): (128 * r * p << logN, 0)
        case .pbkdf2(let rounds): (0, rounds)
        }
    }

    func key(from secret: [UInt8], salt: [UInt8]) throws(SealError) -> SecretKey {
        try check()
        do {
            switch self {
            case .none: return SecretKey(SymmetricKey(data: secret))
            case .scrypt(let logN, let r, let p):
                return SecretKey(
                    try KDF.Scrypt.deriveKey(
                        from: secret, salt: salt, outputByteCount: SecretKey.byteCount, rounds: 1 << logN, blockSize: r, parallelism: p))
            case .pbkdf2(let rounds):
                return SecretKey(
                    try KDF.Insecure.PBKDF2.deriveKey(
                        from: secret, salt: salt, using: .sha256, outputByteCount: SecretKey.byteCount, rounds: rounds))
            }
        } catch { throw .limit("no key can be derived with \(name): \(error)") }
    }
}
