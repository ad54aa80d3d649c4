public import EventModel

/// One of the keys of a sealed store: the part of it that is not secret.
public struct StoreKey: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Holds the master key for whoever has a key file or a passphrase.
        case slot
        /// What events are sealed under; the master key opens it.
        case data
    }

    public var kind: Kind
    /// Its number among those of its kind.
    public var id: UInt32
    /// What opens a slot: `key file`, or how a passphrase is stretched.
    public var way: String?
    /// Of a data key.
    public var suite: CipherSuite?
    public var created: Timestamp
    /// Of a slot; empty where none was given.
    public var label: String
    /// Whether it is the data key that events are sealed under from now on.
    public var isWriting: Bool
}

/// How events are kept secret and unchanged at once.
public enum CipherSuite: String, Hashable, Sendable, CaseIterable {
    case gcm = "aes-256-gcm"
    /// Of older systems: always opened, written only where it is asked for.
    case cbcWithHMAC = "aes-256-cbc-hmac-sha256"
}

/// How a passphrase becomes a key.
public enum KeyDerivation: String, Hashable, Sendable, CaseIterable {
    /// RFC 7914 with 128 MiB.
    case scrypt
    /// RFC 8018 with 600,000 rounds: where scrypt may not be used.
    case pbkdf2 = "pbkdf2-sha256"
}

/// The result of copying a store under other keys.
public struct RecipherReport: Hashable, Sendable {
    /// The last event.
    public var position: Position
    /// SHA-256 over the events themselves, in hexadecimal: the same in both stores.
    public var content: String
    /// Of the new log.
    public var bytes: UInt64
    public var seconds: Double
}
