internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Platform

/// A stream's state on the disk, as a cache for the next process. Deleting it costs only time, so it is written without syncing, and used
/// only where all of its fields are as expected.
///
///     states/FOLD-STREAM   16 hexadecimal digits each: of the SHA-256 of the fold's name, and of the stream's
///
///     0    8 bytes   "evstate1"
///     8    u64       XXH3-64 of all that follows
///     16   32 bytes  `identity` of what the state was made by
///     48   32 bytes  link of the block that holds the stream's last event, which stands for all of the log before it
///     80   u64       position of that event
///     88   u64       its revision
///     96             the state as JSON text
///
/// Numbers are little-endian. A store whose events are sealed keeps no states on the disk, where `forget` could not find them.
struct SavedState {
    var link: Digest
    var position: Position
    var revision: Revision
    var state: [UInt8]

    private static let directory = "states"
    private static let magic = Array("evstate1".utf8)
    private static let headerBytes = 96
    /// A longer state is folded again instead of being saved.
    static let bytesMax = 4 << 20

    /// Identifies what a state was made by: another fold, version, history or store makes another state.
    static func identity<State>(_ fingerprint: StateCache<State>.Fingerprint, _ stream: StreamName) -> Digest {
        var hasher = SHA256Hasher()
        let (numbers, history) = (fingerprint.stamp.numbers, fingerprint.stamp.history)
        hasher.update(fingerprint.store.bytes)
        for text in [fingerprint.name, stream.text, String(reflecting: State.self)] {
            hasher.update(UInt64(text.utf8.count))
            hasher.update(text)
        }
        hasher.update(UInt64(bitPattern: Int64(fingerprint.revision)))
        for version in [fingerprint.version, numbers.floor, numbers.live, numbers.top, numbers.head] {
            hasher.update(UInt64(version.rawValue))
        }
        hasher.update(history)
        return hasher.finalize()
    }

    private static func name(_ fold: String, _ stream: StreamName) -> String {
        [fold, stream.text].map { String(SHA256Hasher.hash($0).hex.prefix(16)) }.joined(separator: "-")
    }

    /// Reads the state of a stream; nil where there is none with this identity, or it is damaged.
    static func read(ofFold fold: String, _ stream: StreamName, _ identity: Digest, in store: String) -> SavedState? {
        let bytes: [UInt8]
        do {
            if try Directory.ownStatus("\(store)/\(directory)") == nil { return nil }
            bytes = try StoreFiles.contents("\(directory)/\(name(fold, stream))", of: store, bytesMax: headerBytes + bytesMax + 1)
        } catch { return nil }
        let row = bytes.lent
        guard bytes.count > headerBytes, bytes.count <= headerBytes + bytesMax, bytes.starts(with: magic),
            row.load(UInt64.self, at: 8) == checksum(row.slice(16, bytes.count - 16)), Digest(row.slice(16, 32)) == identity,
            let link = Digest(row.slice(48, 32))
        else { return nil }
        return SavedState(
            link: link, position: Position(row.load(UInt64.self, at: 80)), revision: Revision(row.load(UInt64.self, at: 88)),
            state: Array(bytes[headerBytes...]))
    }

    /// Replaces the previous state atomically.
    /// - Returns: whether there was none before.
    func write(ofFold fold: String, _ stream: StreamName, _ identity: Digest, in store: String) throws -> Bool {
        var content = ByteBuffer(capacity: Self.headerBytes + state.count)
        content.append(identity.bytes)
        content.append(link.bytes)
        content.append(littleEndian: position.rawValue)
        content.append(littleEndian: revision.rawValue)
        content.append(state)
        var file = ByteBuffer(capacity: Self.headerBytes + state.count)
        file.append(Self.magic)
        file.append(littleEndian: checksum(content.bytes))
        file.append(content.bytes)
        let directory = try StoreFiles.directory(Self.directory, of: store)
        let path = "\(directory)/\(Self.name(fold, stream))"
        let isNew = try Directory.ownStatus(path) == nil
        let made = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 16))"
        do {
            try File(made, .createNew).write(file.bytes, at: 0)
            try Directory.rename(made, to: path)
        } catch {
            // A file that can't be removed now is removed by the next call that empties the cache.
            do { try Directory.remove(made) } catch {}
            throw error
        }
        return isNew
    }

    /// The number of states of a fold on the disk, of all processes.
    static func count(ofFold fold: String, in store: String) throws -> Int { try names(ofFold: fold, in: store).count }

    /// Removes all states of a fold, and unfinished files of processes that were killed while they wrote one.
    static func removeAll(ofFold fold: String, in store: String) throws {
        for name in try names(ofFold: fold, in: store) { try Directory.remove("\(store)/\(directory)/\(name)") }
    }

    private static func names(ofFold fold: String, in store: String) throws -> [String] {
        let prefix = String(SHA256Hasher.hash(fold).hex.prefix(16)) + "-"
        return try Directory.names(StoreFiles.directory(directory, of: store)).filter { $0.hasPrefix(prefix) }
    }
}
