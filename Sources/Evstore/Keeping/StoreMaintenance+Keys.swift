internal import Bytes
public import EventModel
internal import FoundationEssentials
public import LogKeeping
internal import Platform
internal import Projections

extension StoreMaintenance {
    /// Returns the store's keys, slots first; empty where its events are not sealed.
    public func keys() -> [StoreKey] { Keys.list(log) }

    /// Adds a slot, so that another secret opens the store, too. Waits for one transaction, and for the derivation of a passphrase.
    ///
    /// - Parameters:
    ///   - secret: a key of 32 bytes, or a passphrase, which opens the store from now on, too.
    ///   - derivation: how a passphrase is stretched; scrypt where nil. It has to be nil for a key.
    ///   - label: tells whose slot it is, in at most 40 bytes; it is not encrypted.
    /// - Returns: the new slot.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys; usage where the secret or the label is not valid, or a key has a
    ///   derivation; deadlinePassed.
    public func addKey(
        _ secret: StoreSecret, derivation: KeyDerivation? = nil, label: String = ""
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("add a key") { (context) async throws(EvstoreError) in
            try await Keys.add(context, secret, derivation, label: label)
        }
    }

    /// Makes a data key, under which new events are sealed from now on; existing events stay as they are. Waits for one transaction.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, locked, deadlinePassed.
    public func rotateKey(suite: CipherSuite = .gcm) async throws(EvstoreError) -> StoreKey {
        try await store.working("rotate the data key") { (context) async throws(EvstoreError) in
            try await Keys.rotate(context, suite)
        }
    }

    /// Removes a slot, or a data key under which no event of the log is sealed. For a data key, nobody else may have the store open.
    ///
    /// Somebody with an older copy of the file `keys` and the slot's secret still has the keys: see `recipher`. Waits for one transaction,
    /// and for a data key also for a scan of the whole log.
    /// - Throws: `EvstoreError`: keyNeeded, locked, usage where there is none, interrupted.
    public func retireKey(
        _ kind: StoreKey.Kind, _ id: UInt32, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("retire the \(kind == .slot ? "slot" : "data key") \(id)", progress) {
            (context) async throws(EvstoreError) in
            try await Keys.retire(context, kind, id)
        }
    }

    /// Creates another store with this one's events under new keys, completely or not at all. It has its own id and equal content. Waits
    /// while the whole log is written.
    ///
    /// - Parameters:
    ///   - store: the path of the new store; `storeExists` is thrown unless nothing is there, or an empty directory.
    ///   - secret: opens the new store; where nil, its events are not sealed.
    ///   - suite: how the new store's events are encrypted and authenticated, by default with AES-256-GCM; without a secret it has no
    ///     effect.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: usage where the path lies in the directory of this store; storeExists, migrationInProgress, epochChanged
    ///   (run it again), verificationFailed, diskFull, interrupted.
    public func recipher(
        into store: String, secret: StoreSecret?, suite: CipherSuite = .gcm,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RecipherReport {
        try TargetPath.require(store, outside: self.store.path)
        return try await self.store.working("recipher into \(store)", progress) { (context) async throws(EvstoreError) in
            try Recipher.run(context, into: store, secret: secret, suite: suite)
        }
    }
}

extension SigningKey {
    /// Reads a key from a file that the user or root owns and nobody else can read (0600); symbolic links are refused.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(file path: String) throws(EvstoreError) {
        try self.init(parsing: secureBytes(of: path, .secret), named: path)
    }
}

extension PublicKey {
    /// Reads a public key from a file that nobody else can change; symbolic links are refused.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(file path: String) throws(EvstoreError) {
        try self.init(parsing: secureBytes(of: path, .trusted), named: path)
    }
}

private func secureBytes(of path: String, _ access: SecureFile.Access) throws(EvstoreError) -> [UInt8] {
    do { return try SecureFile.read(path, access, bytesMax: 4_096) } catch { throw .keyUnusable(path: path, reason: "\(error)") }
}

extension StoreSecret {
    private static let keyBytes = 32
    private static let passphraseBytes = 8 ... 1_024

    /// Reads a key from a file that the user or root owns and nobody else can read (0600): 32 random bytes, or 64 hexadecimal digits. Symbolic
    /// links are refused.
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Parameters:
    ///   - path: the path of the key's file, which an error names.
    ///   - store: the path of the store that the key opens. The file must not lie in the store's directory: a copy of that directory would
    ///     contain both. Nil leaves this check out.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func key(file path: String, apartFrom store: String? = nil) throws(EvstoreError) -> StoreSecret {
        try check(path, apartFrom: store)
        return try key(secureBytes(of: path, .secret), named: path)
    }

    /// Reads a passphrase of 8 to 1,024 bytes from the first line of a file that the user or root owns and nobody else can read (0600).
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func passphrase(file path: String, apartFrom store: String? = nil) throws(EvstoreError) -> StoreSecret {
        try check(path, apartFrom: store)
        return try passphrase(secureBytes(of: path, .secret), named: path)
    }

    /// Reads the credential that systemd hands to this service under the name `evstore-key` or `evstore-passphrase` (`LoadCredential=` and
    /// similar); nil where there is none.
    ///
    /// Blocks the calling thread while it reads the file.
    /// - Throws: `EvstoreError.keyUnusable`.
    public static func credential() throws(EvstoreError) -> StoreSecret? {
        guard let directory = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty else { return nil }
        let (key, passphrase) = ("\(directory)/evstore-key", "\(directory)/evstore-passphrase")
        if FileManager.default.fileExists(atPath: key) { return try Self.key(secureBytes(of: key, .granted), named: key) }
        guard FileManager.default.fileExists(atPath: passphrase) else { return nil }
        return try Self.passphrase(secureBytes(of: passphrase, .granted), named: passphrase)
    }

    private static func key(_ bytes: [UInt8], named path: String) throws(EvstoreError) -> StoreSecret {
        if bytes.count == keyBytes {
            // Among files of 32 random bytes, one in 10^13 is text.
            if bytes.allSatisfy({ (0x20 ... 0x7e).contains($0) || (0x09 ... 0x0d).contains($0) }) {
                throw .keyUnusable(
                    path: path,
                    reason: "it holds 32 bytes of text, which are no random ones: a passphrase is not read as a key. A store that"
                        + " was made with it is opened by its 64 hexadecimal digits (xxd -p -c 64)")
            }
            return .key(bytes)
        }
        let digits = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard digits.count == 2 * keyBytes, let text = String(utf8: Array(digits).lent), let key = Bytes.bytes(hex: text) else {
            throw .keyUnusable(path: path, reason: "it holds neither 32 bytes nor 64 hexadecimal digits")
        }
        return .key(key)
    }

    private static func passphrase(_ bytes: [UInt8], named path: String) throws(EvstoreError) -> StoreSecret {
        let line = Array(bytes.prefix { $0 != UInt8(ascii: "\n") })
        guard passphraseBytes.contains(line.count) else {
            throw .keyUnusable(path: path, reason: "its first line has \(line.count) bytes, and a passphrase has 8 to 1,024")
        }
        return .passphrase(line)
    }

    private static func check(_ path: String, apartFrom store: String?) throws(EvstoreError) {
        if let store, TargetPath.isInside(path, store) {
            throw .keyUnusable(path: path, reason: "it lies in the directory of the store that it opens")
        }
    }
}
