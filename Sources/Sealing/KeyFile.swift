internal import Bytes
internal import Crypto

/// The file of a store's keys; the secrets that open it are kept elsewhere. Integers are little-endian.
///
///     0   u32  "evk" and the format, 1
///     4   u32  entries, at most 120
///     8   u64  generation: grows by one with each change
///     16  16   store id
///     32  u32  number of the data key that is written under
///     36  u32  1 where rows, blocks and frames of the store's backups have codes
///     40  24   zero
///     64       entries of 128 bytes
///     end-32   HMAC-SHA256 (RFC 2104) of all before, its key HKDF(master key, "evstore keys")
///
/// An entry:
///
///     0   u8   kind: 1 a slot, which holds the master key; 2 a data key
///     1   u8   of a slot: 0 key file, 1 scrypt, 2 PBKDF2-SHA256; of a data key: its suite (`Suite`)
///     2   u8   zero
///     3   u8   scrypt: the power of two that is N
///     4   u32  number, among those of its kind
///     8   u32  scrypt: r
///     12  u32  scrypt: p; PBKDF2: rounds
///     16  i64  when it was made, microseconds since 1970
///     24  16   salt: random
///     40  32   the key, AES-256-GCM under HKDF(what opens it, salt, bytes 0…39), authenticated with them and the store id
///     72  16   its tag
///     88  40   label: UTF-8, then zeros
///
/// A slot opens with the key file, or with the passphrase after it was stretched with the salt; a data key opens with the master key.
package struct KeyFile: Sendable {
    package enum Kind: UInt8, Sendable { case slot = 1, dataKey = 2 }

    /// One entry of the file, as it can be read without a secret.
    package struct Entry: Sendable {
        package let kind: Kind
        package let id: UInt32
        /// The stretching of a slot; `none` for a data key.
        package let stretching: Stretching
        /// The suite of a data key; `gcm` for a slot.
        package let suite: Suite
        /// Microseconds since 1970.
        package let created: Int64
        package let label: String
        package let bytes: [UInt8]

        var salt: [UInt8] { Array(bytes[24 ..< 40]) }
        var head: [UInt8] { Array(bytes[..<40]) }
    }

    static let magic: UInt32 = 0x01_6b_76_65
    static let headerBytes = 64
    static let entryBytes = 128
    static let codeBytes = 32
    package static let entriesMax = 120
    /// A limit, since each slot that a passphrase is tried on costs some tenths of a second.
    package static let slotsMax = 8
    package static let labelBytes = 40
    package static let bytesMax = headerBytes + entriesMax * entryBytes + codeBytes

    package let generation: UInt64
    package let storeID: [UInt8]
    package let writing: UInt32
    /// Whether the store writes codes; it never changes.
    package let hasCodes: Bool
    package let entries: [Entry]
    /// The authenticated bytes, and their code.
    let body: [UInt8]
    let code: [UInt8]

    package var bytes: [UInt8] { body + code }

    package var slots: [Entry] { entries.filter { $0.kind == .slot } }
    package var dataKeys: [Entry] { entries.filter { $0.kind == .dataKey } }

    /// The bytes of all slots: they change when a slot is added or removed.
    package var slotBytes: [UInt8] { slots.sorted { $0.id < $1.id }.flatMap(\.bytes) }

    /// Reads the parts that need no secret, and checks counts and costs against their bounds. Only `KeyRing` proves the content.
    /// - Throws: `SealError`: damaged, limit.
    package init(_ bytes: [UInt8]) throws(SealError) {
        let row = bytes.lent
        guard bytes.count >= Self.headerBytes + Self.codeBytes, row.load(UInt32.self, at: 0) == Self.magic else {
            throw .damaged("it is no file of keys")
        }
        let count = Int(row.load(UInt32.self, at: 4))
        guard count <= Self.entriesMax, bytes.count == Self.headerBytes + count * Self.entryBytes + Self.codeBytes else {
            throw .damaged("it has another length than it says")
        }
        var entries: [Entry] = []
        for index in 0 ..< count { entries.append(try Self.entry(row.slice(Self.headerBytes + index * Self.entryBytes, Self.entryBytes))) }
        (generation, writing) = (row.load(UInt64.self, at: 8), row.load(UInt32.self, at: 32))
        guard let hasCodes = [0: false, 1: true][row.load(UInt32.self, at: 36)] else {
            throw .damaged("its flag for codes is neither 0 nor 1")
        }
        self.hasCodes = hasCodes
        storeID = Array(bytes[16 ..< 32])
        self.entries = entries
        body = Array(bytes.dropLast(Self.codeBytes))
        code = Array(bytes.suffix(Self.codeBytes))
        guard slots.count <= Self.slotsMax else { throw .limit("it has \(slots.count) slots, and at most \(Self.slotsMax) are possible") }
        try Stretching.check(all: slots.map(\.stretching))
        guard Set(slots.map(\.id)).count == slots.count, Set(dataKeys.map(\.id)).count == dataKeys.count else {
            throw .damaged("two of its entries have one number")
        }
    }

    private static func entry(_ row: RawSpan) throws(SealError) -> Entry {
        guard let kind = Kind(rawValue: row.byte(at: 0)) else { throw .damaged("an entry has an unknown kind") }
        let way = row.byte(at: 1)
        let (r, last) = (Int(row.load(UInt32.self, at: 8)), Int(row.load(UInt32.self, at: 12)))
        let stretching: Stretching
        switch (kind, way) {
        case (.dataKey, _), (.slot, 0): stretching = .none
        case (.slot, 1): stretching = .scrypt(logN: Int(row.byte(at: 3)), r: r, p: last)
        case (.slot, 2): stretching = .pbkdf2(rounds: last)
        default: throw .damaged("a slot opens in no way that this program knows")
        }
        try stretching.check()
        guard let suite = kind == .slot ? .gcm : Suite(rawValue: way) else { throw .damaged("a data key is of an unknown suite") }
        let label = [UInt8](copying: row.slice(88, labelBytes)).prefix { $0 != 0 }
        return Entry(
            kind: kind, id: row.load(UInt32.self, at: 4), stretching: stretching, suite: suite, created: row.load(Int64.self, at: 16),
            label: String(decoding: label, as: UTF8.self), bytes: [UInt8](copying: row))
    }
}

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
