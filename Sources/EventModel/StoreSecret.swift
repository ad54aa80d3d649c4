/// The secret that opens the keys of a sealed store. Keep it apart from the store; the library keeps it in memory only.
///
/// Read one from a file with `StoreSecret.key(file:)` or `.passphrase(file:)`: secrets have no place in arguments and
/// environments, which others can read.
public struct StoreSecret: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Kind: Sendable {
        case key([UInt8])
        case passphrase([UInt8])
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// 32 random bytes, as `head -c 32 /dev/urandom` makes them.
    public static func key(_ bytes: [UInt8]) -> StoreSecret { StoreSecret(.key(bytes)) }

    /// A text that a person remembers; it is stretched with scrypt, which takes 128 MiB and some tenths of a second.
    public static func passphrase(_ bytes: [UInt8]) -> StoreSecret { StoreSecret(.passphrase(bytes)) }

    /// Says nothing of the secret.
    public var description: String {
        switch kind {
        case .key: "a key"
        case .passphrase: "a passphrase"
        }
    }

    /// Hides the secret from `dump`, too.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
