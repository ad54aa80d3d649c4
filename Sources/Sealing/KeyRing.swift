internal import Bytes
internal import Crypto

/// The secret that opens a slot of a key file.
package enum KeySecret: Sendable {
    case key(SecretKey)
    case passphrase([UInt8])

    func opens(_ stretching: Stretching) -> Bool {
        switch self {
        case .key: stretching == .none
        case .passphrase: stretching != .none
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .key(let key): key.bytes
        case .passphrase(let bytes): bytes
        }
    }
}

/// The unwrapped keys of a store.
package struct KeyRing: Sendable {
    package private(set) var file: KeyFile
    let master: SecretKey
    private var keys: [UInt32: DataKey] = [:]
    let subjects: SubjectSecrets
    /// The key that records are sealed under.
    package private(set) var writing: DataKey

    package var generation: UInt64 { file.generation }

    /// - Throws: `SealError`: refused where the secret opens none of the slots, damaged where the file differs from what was written.
    package init(opening file: KeyFile, with secret: KeySecret) throws(SealError) {
        guard let slot = try Self.slot(of: file, openedBy: secret) else { throw .refused }
        try self.init(file, master: slot.master)
    }

    /// - Throws: `SealError.damaged` where the file was not written with this master key.
    init(_ file: KeyFile, master: SecretKey) throws(SealError) {
        guard Self.isAuthentic(file, master) else { throw .damaged("its code does not fit: it is not as it was written") }
        var keys: [UInt32: DataKey] = [:]
        for entry in file.dataKeys {
            keys[entry.id] = DataKey(id: entry.id, suite: entry.suite, try Self.unwrap(entry, file.storeID, under: master))
        }
        guard let writing = keys[file.writing] else { throw .damaged("the key that is written under is missing") }
        (self.file, self.master, self.keys, self.writing) = (file, master, keys, writing)
        subjects = SubjectSecrets(master)
    }

    /// The keys of a newer file, which was written with the same master key.
    /// - Throws: `SealError.damaged` where it was written with another one.
    package func reading(_ file: KeyFile) throws(SealError) -> KeyRing { try KeyRing(file, master: master) }

    package func dataKey(_ id: UInt32) -> DataKey? { keys[id] }

    /// A key for one purpose, derived from the master key.
    package func key(for purpose: String) -> SecretKey { master.key(for: purpose) }

    /// Opens the slots of a kind, one after the other, until the secret fits.
    /// - Parameter stretching: the only kind that is tried; where nil, all that this kind of secret can open.
    /// - Returns: the slot's number and the master key; nil where the secret opens none.
    static func slot(
        of file: KeyFile, openedBy secret: KeySecret, stretched stretching: Stretching? = nil
    ) throws(SealError) -> (id: UInt32, master: SecretKey)? {
        for entry in file.slots where secret.opens(entry.stretching) && (stretching ?? entry.stretching) == entry.stretching {
            let key = try entry.stretching.key(from: secret.bytes, salt: entry.salt)
            do throws(SealError) { return (entry.id, try unwrap(entry, file.storeID, under: key)) } catch {
                guard case .broken = error else { throw error }
            }
        }
        return nil
    }

    private static func unwrap(_ entry: KeyFile.Entry, _ storeID: [UInt8], under key: SecretKey) throws(SealError) -> SecretKey {
        let plain = try Suite.gcm.open(
            entry.bytes.lent.slice(40, 48), key.derived(salt: entry.salt, info: entry.head), (entry.head + storeID).lent)
        guard let key = SecretKey(plain) else { throw .broken("a key has another length") }
        return key
    }

    private static func isAuthentic(_ file: KeyFile, _ master: SecretKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(file.code, authenticating: file.body, using: codeKey(master))
    }

    static func codeKey(_ master: SecretKey) -> SymmetricKey {
        master.derived(salt: [], info: Array("evstore keys".utf8)).symmetric
    }
}

extension SecretKey {
    /// A key for one purpose, derived from this one, a store's master key.
    func key(for purpose: String) -> SecretKey { derived(salt: [], info: Array("evstore \(purpose)".utf8)) }
}
