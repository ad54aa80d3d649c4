/// The secret that opens the keys of a sealed store. Keep it apart from the store; the library holds it only in memory.
///
/// Read it from a file with `StoreSecret.key(file:)` or `.passphrase(file:)`: never pass secrets in arguments or environment variables,
/// which others can read.
public struct StoreSecret: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Kind: Sendable {
        case key([UInt8])
        case passphrase([UInt8])
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// 32 random bytes, such as those from `head -c 32 /dev/urandom`.
    public static func key(_ bytes: [UInt8]) -> StoreSecret { StoreSecret(.key(bytes)) }

    /// A text that a person remembers. It is stretched with scrypt, which takes 128 MiB and some tenths of a second.
    public static func passphrase(_ bytes: [UInt8]) -> StoreSecret { StoreSecret(.passphrase(bytes)) }

    /// Reveals nothing about the secret.
    public var description: String {
        switch kind {
        case .key: "a key"
        case .passphrase: "a passphrase"
        }
    }

    /// Hides the secret from `dump` as well.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
