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

extension KeyRing {
    /// Makes the first keys of a store: a master key in one slot, and a data key.
    package static func make(
        storeID: [UInt8], _ secret: KeySecret, _ stretching: Stretching, suite: Suite = .gcm, label: String, time: Int64
    ) throws(SealError) -> KeyRing {
        let master = SecretKey.random()
        let opener = try SlotOpener(secret, stretching)
        let slot = try EntryDraft(slot: 1, opener, label: label, time: time, storeID).slot(of: master, for: opener)
        let key = try EntryDraft(dataKey: 1, suite, time: time, storeID).dataKey(under: master)
        let draft = KeyFileDraft(generation: 1, storeID: storeID, writing: 1, hasCodes: true, entries: [slot, key])
        return try KeyRing(draft.file(under: master), master: master)
    }

    /// Adds a slot for the same keys; returns its number.
    /// - Throws: `SealError.limit` where there are too many, or the secret opens one already that stretches it like this.
    package mutating func addSlot(_ secret: KeySecret, _ stretching: Stretching, label: String, time: Int64) throws(SealError) -> UInt32 {
        guard file.slots.count < KeyFile.slotsMax else { throw .limit("there are \(KeyFile.slotsMax) slots; retire one first") }
        if let known = try Self.slot(of: file, openedBy: secret, stretched: stretching) {
            throw .limit("slot \(known.id) is opened by this \(stretching == .none ? "key" : "passphrase") already")
        }
        let id = Self.next(file.slots)
        let opener = try SlotOpener(secret, stretching)
        let slot = try EntryDraft(slot: id, opener, label: label, time: time, file.storeID).slot(of: master, for: opener)
        try replace(file.entries.map(\.bytes) + [slot], writing: file.writing)
        return id
    }

    /// Adds a data key, under which records are sealed from now on; returns its number.
    package mutating func rotate(_ suite: Suite, time: Int64) throws(SealError) -> UInt32 {
        guard file.entries.count < KeyFile.entriesMax else { throw .limit("there are \(file.entries.count) keys; retire some first") }
        let id = Self.next(file.dataKeys)
        let key = try EntryDraft(dataKey: id, suite, time: time, file.storeID).dataKey(under: master)
        try replace(file.entries.map(\.bytes) + [key], writing: id)
        return id
    }

    /// Removes a slot or a data key. The caller has checked that no record needs the data key.
    /// - Throws: `SealError.limit` where there is no such key, or it is the last slot or the key that records are sealed under.
    package mutating func retire(_ kind: KeyFile.Kind, _ id: UInt32) throws(SealError) {
        let rest = file.entries.filter { $0.kind != kind || $0.id != id }
        guard rest.count < file.entries.count else { throw .limit("there is no such key") }
        guard rest.contains(where: { $0.kind == .slot }) else { throw .limit("it is the last slot: without it nothing can be opened") }
        guard kind == .slot || id != file.writing else { throw .limit("it is the key that is written under: rotate first") }
        try replace(rest.map(\.bytes), writing: file.writing)
    }

    /// The bytes of the key file.
    package var encoded: [UInt8] { file.bytes }

    private mutating func replace(_ entries: [[UInt8]], writing: UInt32) throws(SealError) {
        let draft = KeyFileDraft(
            generation: file.generation + 1, storeID: file.storeID, writing: writing, hasCodes: file.hasCodes, entries: entries)
        self = try KeyRing(draft.file(under: master), master: master)
    }

    /// The number of a new entry: one more than the highest in use.
    private static func next(_ entries: [KeyFile.Entry]) -> UInt32 { (entries.map(\.id).max() ?? 0) + 1 }
}
