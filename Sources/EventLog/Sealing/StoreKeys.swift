internal import Bytes
package import EventModel
package import Hashing
internal import LMDB
internal import Platform
package import Sealing

/// The opened keys of a store: its file `keys`, and what a handle derives from it.
package final class StoreKeys: Sendable {
    package static let fileName = "keys"

    package let store: String
    private let ring: Monitor<KeyRing>
    package let subjects: SubjectKeys
    /// Nil in a store of a format before 6.
    package let codes: StoreCodes?
    private let openers = Monitor<[KeptOpener]>([])

    /// - Throws: `EvstoreError`: keysRefused where the secret opens no slot, storeDamaged.
    package convenience init(at store: String, _ storeID: StoreID, _ secret: StoreSecret) throws {
        let file = try Self.file(at: store, storeID)
        let opened: KeyRing
        do throws(SealError) { opened = try KeyRing(opening: file, with: KeySecret(secret)) } catch { throw Self.failure(error, store) }
        self.init(opened, at: store)
    }

    private init(_ ring: KeyRing, at store: String) {
        self.store = store
        (self.ring, subjects) = (Monitor(ring), SubjectKeys(at: store, ring))
        codes = ring.file.hasCodes ? StoreCodes(ring) : nil
    }

    /// The keys of an existing store; nil where its events are not sealed.
    /// - Throws: `EvstoreError`: keysRefused, storeDamaged.
    static func open(at store: String, _ identity: StoreIdentity, _ options: Options) throws -> StoreKeys? {
        switch (identity.isSealed, options.secret) {
        case (false, nil): return nil
        case (false, .some):
            throw EvstoreError.keysRefused(path: store, reason: "its events are not sealed: anybody could have written them")
        case (true, nil): throw EvstoreError.keysRefused(path: store, reason: "its events are sealed, and no key was given")
        case (true, .some(let secret)):
            let keys = try StoreKeys(at: store, identity.id, secret)
            // The manifest is not authenticated: anybody could have changed it.
            guard (keys.codes != nil) == identity.hasCodes else {
                throw EvstoreError.storeDamaged(
                    path: store,
                    reason: "\(Manifest.name) names format \(identity.format), and its keys say that its rows have "
                        + (keys.codes == nil ? "no codes" : "codes"))
            }
            return keys
        }
    }

    /// Makes the first keys of a store, which has no key file yet.
    static func make(at store: String, _ storeID: StoreID, _ secret: StoreSecret, _ suite: Suite) throws -> StoreKeys {
        let stretching: Stretching = if case .key = secret.kind { .none } else { .standard }
        let ring: KeyRing
        do throws(SealError) {
            ring = try KeyRing.make(
                storeID: storeID.bytes, .new(secret), stretching, suite: suite, label: "first", time: Timestamp.now.microseconds)
        } catch { throw failure(error, store) }
        try write(ring.encoded, at: store)
        return StoreKeys(ring, at: store)
    }

    var writing: DataKey { ring.withLock { $0.writing } }

    /// A data key by its number. If it is unknown, another process may have made it since: then the file is read again.
    func key(_ id: UInt32, for position: Position) throws(EvstoreError) -> DataKey {
        if let key = ring.withLock({ $0.dataKey(id) }) { return key }
        do { try reload() } catch let error as EvstoreError { throw error } catch {
            throw .storeDamaged(path: store, reason: "its keys can't be read: \(error)")
        }
        if let key = ring.withLock({ $0.dataKey(id) }) { return key }
        throw .corruptBlock(
            position: position, reason: "the event at \(position) is sealed under the key \(id), which the store does not have")
    }

    /// A key for data beside the log, derived for one purpose.
    func key(for purpose: String) -> SecretKey { ring.withLock { $0.key(for: purpose) } }

    /// The key file as this handle knows it; reading it needs no secret.
    package var file: KeyFile { ring.withLock { $0.file } }

    /// The current key file: its generation, its bytes, and a digest over its slots.
    package func current() throws -> (generation: UInt64, bytes: [UInt8], slots: Digest) {
        try reload()
        return ring.withLock { ($0.generation, $0.encoded, SHA256Hasher.hash($0.file.slotBytes)) }
    }

    fileprivate func readRing() throws -> KeyRing {
        let known = ring.withLock { $0 }
        let file = try Self.file(at: store, StoreID(known.file.storeID))
        do throws(SealError) { return try known.reading(file) } catch { throw Self.failure(error, store) }
    }

    // MARK: Changing

    /// Changes the keys durably, completely or not at all. Other processes that change them wait for the log's write lock.
    func change<R>(_ environment: Environment, _ turn: WriteTurn? = nil, _ body: (inout KeyRing) throws(SealError) -> R) throws -> R {
        try environment.writeOwned(turn) { _ in
            try reload()
            var changed = ring.withLock { $0 }
            let result: R
            do throws(SealError) { result = try body(&changed) } catch { throw Self.failure(error, store) }
            try Self.write(changed.encoded, at: store)
            ring.withLock { $0 = changed }
            return result
        }
    }

    private func reload() throws {
        let read = try readRing()
        guard read.generation > ring.withLock({ $0.generation }) else { return }
        // Order: synced before a new key is used. The process that changed the keys may have been killed before the name was durable, and
        // nothing may be sealed under a key that a power cut could undo.
        try Directory.sync(store)
        ring.withLock { if read.generation > $0.generation { $0 = read } }
    }

    private static func file(at store: String, _ storeID: StoreID?) throws -> KeyFile {
        guard let file = try file(at: store) else {
            throw EvstoreError.storeDamaged(path: store, reason: "its events are sealed, and its file \(fileName) is missing")
        }
        guard file.storeID == storeID?.bytes else {
            throw EvstoreError.storeDamaged(path: store, reason: "its file \(fileName) is of another store")
        }
        return file
    }

    /// The key file, read without a secret; nil where there is none.
    package static func file(at store: String) throws -> KeyFile? {
        guard let bytes = try bytes(at: store) else { return nil }
        do throws(SealError) { return try KeyFile(bytes) } catch { throw failure(error, store) }
    }

    /// The file's bytes; nil where there is none.
    package static func bytes(at store: String) throws -> [UInt8]? {
        guard try Directory.ownStatus(store + "/" + fileName) != nil else { return nil }
        return try File(store + "/" + fileName, .read).read(KeyFile.bytesMax + 1)
    }

    /// Order: the new file is durable before it has the name, and the name before anything is sealed under a new key.
    package static func write(_ bytes: [UInt8], at store: String) throws {
        try WholeFile.write(bytes, to: store + "/" + fileName)
    }

    private static func failure(_ error: SealError, _ store: String) -> EvstoreError {
        switch error {
        case .refused: .keysRefused(path: store, reason: "what was given opens none of its keys")
        case .limit(let reason): .usage(reason)
        case .broken, .damaged: .storeDamaged(path: store, reason: "its file \(fileName): \(error.reason)")
        }
    }

    // MARK: Opening

    /// Lends one of the openers that are kept for reuse.
    package func withOpener<R>(_ storeID: StoreID, _ body: (inout RecordOpener) throws -> R) rethrows -> R {
        let kept = openers.withLock { $0.popLast() } ?? KeptOpener(RecordOpener(self, storeID))
        defer { openers.withLock { $0.append(kept) } }
        return try body(&kept.opener)
    }

    private final class KeptOpener: @unchecked Sendable {
        // Sound because the thread that takes it off the list is the only one to use it.
        var opener: RecordOpener

        init(_ opener: consuming RecordOpener) { self.opener = opener }
    }
}

extension KeySecret {
    package init(_ secret: StoreSecret) throws(SealError) {
        switch secret.kind {
        case .key(let bytes):
            guard let key = SecretKey(bytes) else { throw .limit("a key has \(SecretKey.byteCount) bytes") }
            self = .key(key)
        case .passphrase(let bytes): self = .passphrase(bytes)
        }
    }

    /// A secret that new keys are made for. A store whose key is all zeros still opens with it, so that its owner can change it.
    package static func new(_ secret: StoreSecret) throws(SealError) -> KeySecret {
        if case .key(let bytes) = secret.kind, bytes.allSatisfy({ $0 == 0 }) { throw .limit("bytes of 0 are no key: everybody knows them") }
        return try KeySecret(secret)
    }
}

package enum KeySource {
    /// New keys, which a secret opens.
    case made(StoreSecret, Suite = .gcm)
    /// The keys of another store with the same id, in the form of its file.
    case copied([UInt8], StoreSecret)

    func writeKeyFile(_ store: String, _ storeID: StoreID) throws -> StoreKeys {
        switch self {
        case .made(let secret, let suite): return try StoreKeys.make(at: store, storeID, secret, suite)
        case .copied(let bytes, let secret):
            try StoreKeys.write(bytes, at: store)
            return try StoreKeys(at: store, storeID, secret)
        }
    }
}

/// Makes and checks the codes of a sealed store, from format 6 on. An attacker who can write its files but has none of its keys can make
/// every checksum and link right, but no code. The keys of codes are derived from the master key and the store's id, so that they do not
/// change with data keys and slots.
///
/// A code proves the place and not the time: an older row, block or file that is put back unchanged has a right code. A signed head reveals
/// that.
package struct StoreCodes: Sendable {
    /// Codes of rows: over u64 number of the table + 256 · bytes of the key, key, value.
    let rows: Authenticator
    /// Codes of blocks: over all bytes before the code.
    let blocks: Authenticator
    /// Codes of a backup's frames: over their links, which cover all frames so far.
    package let frames: Authenticator

    init(_ ring: KeyRing) {
        rows = ring.authenticator(for: "codes of rows")
        blocks = ring.authenticator(for: "codes of blocks")
        frames = ring.authenticator(for: "codes of frames")
    }
}

/// The names of files that hold keys of personal data, or lines with such data: they are overwritten before they are removed. Databases are
/// not among them: their personal data is sealed under keys in such files.
package enum KeyedFiles {
    package static func isOne(_ name: String) -> Bool {
        [SubjectKeys.fileName, StoreKeys.fileName, ModelKeys.fileName].contains(name)
            || [".evf", ".jsonl"].contains { name.hasSuffix($0) }
    }
}

extension EventLog {
    /// The store's key file, as anybody can read it; nil where its events are not sealed.
    package var keyFile: KeyFile? { access.keys?.file }

    /// The key file that is on the disk at this moment, proved with this handle's keys. It may be an older copy that was put back.
    /// - Throws: `EvstoreError.storeDamaged`.
    package func readKeyFile() throws -> KeyFile? {
        try converting("reading the keys") { try access.keys?.readRing().file }
    }

    /// A digest over the slots of the store's key file as it is now; nil where its events are not sealed.
    package func slotsDigest() throws -> Digest? { try access.keys?.current().slots }

    /// Changes the store's keys durably, completely or not at all; other processes that change them wait.
    /// - Throws: `EvstoreError`: keysRefused, usage where `body` refuses, readOnly, diskFull, storeDamaged.
    package func changeKeys<R>(_ body: (inout KeyRing) throws(SealError) -> R) throws -> R {
        let keys = try changeableKeys("it has no keys")
        return try converting("changing the keys") {
            try access.environment.checkProcess()
            return try keys.change(access.environment, takeTurn(), body)
        }
    }

    /// The numbers of the data keys that events are sealed under. Reads the whole log.
    package func dataKeysInUse(progress: (Position) throws -> Void = { _ in }) throws -> Set<UInt32> {
        var used: Set<UInt32> = []
        try scan(after: .start, form: .sealed) { block, _ in
            used.formUnion(block.dataKeys)
            try progress(block.last)
            return true
        }
        return used
    }

    private func changeableKeys(_ lack: String) throws -> StoreKeys {
        guard let keys = access.keys else { throw EvstoreError.keysRefused(path: path, reason: "its events are not sealed: \(lack)") }
        if isReadOnly { throw EvstoreError.readOnly(path: path) }
        return keys
    }

    // MARK: Forgetting

    /// Overwrites the keys under which the personal data of some streams' events is sealed, durably: nobody can read that data any more.
    /// O(events of the streams), and one pass over all keys for each 1,024 streams. The caller updates the ledger.
    /// - Parameter done: called for each stream, in order, once its keys are overwritten; with nil where it never had such data.
    /// - Throws: `EvstoreError`: keysRefused, readOnly; storeDamaged and corruptBlock where damage hides some of the keys of a stream: then
    ///   the known ones are overwritten, and those of the streams after it are not.
    package func forget(_ streams: [StreamName], _ done: (StreamName, ForgottenSubject?) -> Void) throws {
        let keys = try changeableKeys("nothing can be forgotten")
        var batch: [(name: StreamName, named: Set<UInt32>)] = []
        for (index, stream) in streams.enumerated() {
            try converting("forgetting \(streams.count == 1 ? "\(stream)" : "\(streams.count) streams")") {
                try access.environment.checkProcess()
                var (named, unread): (Set<UInt32>, (any Error)?) = ([], nil)
                // Events that are appended meanwhile are sealed under a slot that was whole just before.
                do { named = try slots(of: stream, keys) } catch { unread = error }
                batch.append((stream, named))
                if unread == nil, batch.count < Self.forgottenAtOnceMax, index + 1 < streams.count { return }
                let forgotten = try access.environment.writeOwned(takeTurn()) { transaction in
                    try keys.subjects.forget(batch, noted: StateRows.slots(transaction.reads, access.tables))
                }
                // A stream that can't be read may have its key among those that are damaged.
                let isUnknown = try unread != nil && (forgotten.last == .some(nil) || !keys.subjects.damages().isEmpty)
                if isUnknown { batch.removeLast() } else { unread = nil }
                for (one, subject) in zip(batch, forgotten) { done(one.name, subject) }
                batch = []
                if let unread { throw unread }
            }
        }
    }

    private static let forgottenAtOnceMax = 1_024

    /// Those of the streams for whose personal data there is a key, also where one is not in the log any more.
    package func keyed(among streams: Set<StreamName>) throws -> Set<StreamName> {
        try converting("reading the keys of streams") { try access.keys?.subjects.keyed(among: streams) ?? [] }
    }

    private func slots(of stream: StreamName, _ keys: StoreKeys) throws -> Set<UInt32> {
        var slots: Set<UInt32> = []
        var next: Revision? = Revision(.max)
        while let from = next {
            next = try read { reader in
                guard let walk = try reader.walk(stream) else { return nil }
                var last: UInt64 = 0
                try walk.backwards(from: min(from, walk.head.revision), limit: options.pageEventsMax, reader.transaction) { record in
                    last = record.revision.rawValue
                    let slot = record.isSealed ? try keys.withOpener(access.storeID, { try $0.subject(of: record) }) : nil
                    if let slot { slots.insert(slot) }
                    return true
                }
                return last == 0 ? nil : Revision(last - 1)
            }
        }
        return slots
    }
}
