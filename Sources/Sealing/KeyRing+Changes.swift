internal import Bytes
internal import Crypto

extension KeyRing {
    /// The first keys of a store: a master key in one slot, and a data key.
    package static func make(
        storeID: [UInt8], _ secret: KeySecret, _ stretching: Stretching, suite: Suite = .gcm, label: String, time: Int64,
        hasCodes: Bool = true
    ) throws(SealError) -> KeyRing {
        let master = SecretKey.random()
        let slot = try slot(1, master, secret, stretching, label: label, time: time, storeID)
        let key = try dataKey(1, suite, under: master, time: time, storeID)
        return try KeyRing(file(1, storeID, writing: 1, hasCodes, [slot, key], master), master: master)
    }

    /// Another slot for the same keys; returns its number.
    package mutating func addSlot(_ secret: KeySecret, _ stretching: Stretching, label: String, time: Int64) throws(SealError) -> UInt32 {
        guard file.slots.count < KeyFile.slotsMax else { throw .limit("there are \(KeyFile.slotsMax) slots; retire one first") }
        let id = Self.next(file.slots)
        let slot = try Self.slot(id, master, secret, stretching, label: label, time: time, file.storeID)
        try replace(file.entries.map(\.bytes) + [slot], writing: file.writing)
        return id
    }

    /// A new data key, which records are sealed under from now on; returns its number.
    package mutating func rotate(_ suite: Suite, time: Int64) throws(SealError) -> UInt32 {
        guard file.entries.count < KeyFile.entriesMax else { throw .limit("there are \(file.entries.count) keys; retire some first") }
        let id = Self.next(file.dataKeys)
        let key = try Self.dataKey(id, suite, under: master, time: time, file.storeID)
        try replace(file.entries.map(\.bytes) + [key], writing: id)
        return id
    }

    /// Takes a slot or a data key off, of which the caller knows that nothing needs it.
    package mutating func retire(_ kind: KeyFile.Kind, _ id: UInt32) throws(SealError) {
        let rest = file.entries.filter { $0.kind != kind || $0.id != id }
        guard rest.count < file.entries.count else { throw .limit("there is no such key") }
        guard rest.contains(where: { $0.kind == .slot }) else { throw .limit("it is the last slot: without it nothing can be opened") }
        guard kind == .slot || id != file.writing else { throw .limit("it is the key that is written under: rotate first") }
        try replace(rest.map(\.bytes), writing: file.writing)
    }

    /// The file, whole.
    package var encoded: [UInt8] { file.bytes }

    private mutating func replace(_ entries: [[UInt8]], writing: UInt32) throws(SealError) {
        self = try KeyRing(Self.file(file.generation + 1, file.storeID, writing: writing, file.hasCodes, entries, master), master: master)
    }

    /// No number is given twice while its key could still be met.
    private static func next(_ entries: [KeyFile.Entry]) -> UInt32 { (entries.map(\.id).max() ?? 0) + 1 }

    private static func slot(
        _ id: UInt32, _ master: SecretKey, _ secret: KeySecret, _ stretching: Stretching, label: String, time: Int64, _ storeID: [UInt8]
    ) throws(SealError) -> [UInt8] {
        guard secret.opens(stretching) else { throw .limit("a passphrase is stretched, and a key is not") }
        try stretching.check()
        guard label.utf8.count <= KeyFile.labelBytes else { throw .limit("a label has at most \(KeyFile.labelBytes) bytes") }
        let salt = SecretKey.salt()
        let way: (UInt8, UInt8, UInt32, UInt32) =
            switch stretching {
            case .none: (0, 0, 0, 0)
            case .scrypt(let logN, let r, let p): (1, UInt8(logN), UInt32(r), UInt32(p))
            case .pbkdf2(let rounds): (2, 0, 0, UInt32(rounds))
            }
        let key = try stretching.key(from: secret.bytes, salt: salt)
        return try entry(.slot, way, id, time, salt, master, under: key, label, storeID)
    }

    private static func dataKey(
        _ id: UInt32, _ suite: Suite, under master: SecretKey, time: Int64, _ storeID: [UInt8]
    ) throws(SealError) -> [UInt8] {
        try entry(.dataKey, (suite.rawValue, 0, 0, 0), id, time, SecretKey.salt(), .random(), under: master, "", storeID)
    }

    private static func entry(
        _ kind: KeyFile.Kind, _ way: (UInt8, UInt8, UInt32, UInt32), _ id: UInt32, _ time: Int64, _ salt: [UInt8], _ wrapped: SecretKey,
        under key: SecretKey, _ label: String, _ storeID: [UInt8]
    ) throws(SealError) -> [UInt8] {
        var row = ByteBuffer(capacity: KeyFile.entryBytes)
        for byte in [kind.rawValue, way.0, 0, way.1] { row.append(byte) }
        row.append(littleEndian: id)
        row.append(littleEndian: way.2)
        row.append(littleEndian: way.3)
        row.append(littleEndian: time)
        row.append(salt)
        let head = row.array()
        let (text, tag) = try Suite.gcm.seal(wrapped.bytes, key.derived(salt: salt, info: head), vector: [], head + storeID)
        row.append(text)
        row.append(tag)
        row.append(label)
        row.append(zeros: KeyFile.entryBytes - row.count)
        return row.array()
    }

    private static func file(
        _ generation: UInt64, _ storeID: [UInt8], writing: UInt32, _ hasCodes: Bool, _ entries: [[UInt8]], _ master: SecretKey
    ) throws(SealError) -> KeyFile {
        var row = ByteBuffer(capacity: KeyFile.bytesMax)
        row.append(littleEndian: KeyFile.magic)
        row.append(littleEndian: UInt32(entries.count))
        row.append(littleEndian: generation)
        row.append(storeID)
        row.append(littleEndian: writing)
        row.append(littleEndian: hasCodes ? 1 as UInt32 : 0)
        row.append(zeros: 24)
        for entry in entries { row.append(entry) }
        row.append(Array(HMAC<SHA256>.authenticationCode(for: row.array(), using: codeKey(master))))
        return try KeyFile(row.array())
    }
}
