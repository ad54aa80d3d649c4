public import EventModel

/// The public description of one of a sealed store's keys, without its secret part.
public struct StoreKey: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Holds the master key, wrapped under a key file or a passphrase.
        case slot
        /// Events are sealed under it; the master key opens it.
        case data
    }

    public var kind: Kind
    /// The key's number among those of its kind.
    public var id: UInt32
    /// The kind of secret that opens a slot: `key file`, or the derivation of a passphrase, such as `scrypt`. Nil for a data key.
    public var openedBy: String?
    /// Nil for a slot.
    public var suite: CipherSuite?
    public var created: Timestamp
    /// A slot's label; empty where none was given, and for a data key.
    public var label: String
    /// Whether it is the data key that events are sealed under from now on.
    public var isWriting: Bool
}

/// How events are encrypted and authenticated.
public enum CipherSuite: String, Hashable, Sendable, CaseIterable {
    case gcm = "aes-256-gcm"
    /// For systems without GCM: every store can open it, and a store writes it only on request.
    case cbcWithHMAC = "aes-256-cbc-hmac-sha256"
}

/// How a passphrase becomes a key.
public enum KeyDerivation: String, Hashable, Sendable, CaseIterable {
    /// RFC 7914 with 128 MiB.
    case scrypt
    /// RFC 8018 with 600,000 rounds: where scrypt may not be used.
    case pbkdf2 = "pbkdf2-sha256"
}

/// The result of reciphering a store.
public struct RecipherReport: Hashable, Sendable {
    /// The position of the last event.
    public var position: Position
    /// SHA-256 over the events, in hexadecimal: equal in both stores.
    public var content: String
    /// The size of the new log.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}
