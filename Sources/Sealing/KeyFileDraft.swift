internal import Bytes
internal import Crypto

/// The secret that opens a slot, and how it is stretched.
struct SlotOpener {
    let secret: KeySecret
    let stretching: Stretching

    /// - Throws: `SealError.limit` where this kind of secret can't be stretched this way, or the stretching is out of bounds.
    init(_ secret: KeySecret, _ stretching: Stretching) throws(SealError) {
        guard secret.opens(stretching) else { throw .limit("a passphrase is stretched, and a key is not") }
        try stretching.check()
        (self.secret, self.stretching) = (secret, stretching)
    }

    func key(salt: [UInt8]) throws(SealError) -> SecretKey { try stretching.key(from: secret.bytes, salt: salt) }
}

/// The plain fields of an entry of a key file (bytes 0 to 23 and the label), before a key is wrapped in it.
struct EntryDraft {
    private let kind: KeyFile.Kind
    private let id: UInt32
    /// Bytes 1 and 3, and the integers at 8 and 12: the stretching of a slot, or the suite of a data key.
    private let parameters: (first: UInt8, logN: UInt8, r: UInt32, last: UInt32)
    private let label: String
    /// Microseconds since 1970.
    private let time: Int64
    private let storeID: [UInt8]

    /// - Throws: `SealError.limit` where the label is too long.
    init(slot id: UInt32, _ opener: SlotOpener, label: String, time: Int64, _ storeID: [UInt8]) throws(SealError) {
        guard label.utf8.count <= KeyFile.labelBytes else { throw .limit("a label has at most \(KeyFile.labelBytes) bytes") }
        parameters =
            switch opener.stretching {
            case .none: (0, 0, 0, 0)
            case .scrypt(let logN, let r, let p): (1, UInt8(logN), UInt32(r), UInt32(p))
            case .pbkdf2(let rounds): (2, 0, 0, UInt32(rounds))
            }
        (kind, self.id, self.label, self.time, self.storeID) = (.slot, id, label, time, storeID)
    }

    init(dataKey id: UInt32, _ suite: Suite, time: Int64, _ storeID: [UInt8]) {
        parameters = (suite.rawValue, 0, 0, 0)
        (kind, self.id, label, self.time, self.storeID) = (.dataKey, id, "", time, storeID)
    }

    /// The entry, with the master key wrapped under a key made of the secret and a new salt.
    func slot(of master: SecretKey, for opener: SlotOpener) throws(SealError) -> [UInt8] {
        let salt = SecretKey.salt()
        return try wrapping(master, under: opener.key(salt: salt), salt: salt)
    }

    /// The entry, with a new data key wrapped under the master key.
    func dataKey(under master: SecretKey) throws(SealError) -> [UInt8] {
        try wrapping(.random(), under: master, salt: SecretKey.salt())
    }

    private func wrapping(_ wrapped: SecretKey, under key: SecretKey, salt: [UInt8]) throws(SealError) -> [UInt8] {
        var row = ByteBuffer(capacity: KeyFile.entryBytes)
        for byte in [kind.rawValue, parameters.first, 0, parameters.logN] { row.append(byte) }
        row.append(littleEndian: id)
        row.append(littleEndian: parameters.r)
        row.append(littleEndian: parameters.last)
        row.append(littleEndian: time)
        row.append(salt)
        let head = row.array()
        row.append(try Suite.gcm.seal(wrapped.bytes, key.derived(salt: salt, info: head), head + storeID))
        row.append(label)
        row.append(zeros: KeyFile.entryBytes - row.count)
        return row.array()
    }
}

/// The contents of a key file, before its code is made.
struct KeyFileDraft {
    let generation: UInt64
    let storeID: [UInt8]
    /// The number of the data key that records are sealed under.
    let writing: UInt32
    let hasCodes: Bool
    let entries: [[UInt8]]

    func file(under master: SecretKey) throws(SealError) -> KeyFile {
        var row = ByteBuffer(capacity: KeyFile.bytesMax)
        row.append(littleEndian: KeyFile.magic)
        row.append(littleEndian: UInt32(entries.count))
        row.append(littleEndian: generation)
        row.append(storeID)
        row.append(littleEndian: writing)
        row.append(littleEndian: hasCodes ? 1 as UInt32 : 0)
        row.append(zeros: 24)
        for entry in entries { row.append(entry) }
        row.append(Array(HMAC<SHA256>.authenticationCode(for: row.array(), using: KeyRing.codeKey(master))))
        return try KeyFile(row.array())
    }
}
