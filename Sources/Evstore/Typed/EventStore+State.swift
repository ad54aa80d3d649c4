internal import Bytes
internal import EventLog
public import EventModel
internal import Hashing
internal import JSONText
internal import Logging
internal import Platform
internal import Projections
internal import SchemaEvolution

/// A stream's state, folded from its events.
public struct StreamState<State: Sendable>: Sendable {
    /// What the fold made of the events.
    public var value: State
    /// The revision of the stream's last event, even if the fold has no handler for it; nil where the stream is empty.
    public var revision: Revision?
    /// The number of events that this call has folded: those since the cached state, or all.
    public var folded: Int
    /// Whether the fold began with a cached state.
    public var wasKept: Bool
    /// The checkpoint up to which the log was read.
    public var checkpoint: Checkpoint

    /// The expectation for an append that depends on this state: it fails where the stream has changed since.
    public var expectation: Expectation { revision.map { .revision($0) } ?? .noStream }

    /// The condition for an append that depends on this state of a stream: it fails where the stream has changed since, or a cut has taken
    /// off what was folded.
    public func condition(on stream: StreamName) -> StreamCondition { StreamCondition(stream, expectation, asOf: checkpoint) }
}

extension EventStore {
    /// Folds the events of a stream, or those since the state in `cache`, to its state. The cost grows with the number of folded events.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    /// - Throws: `EvstoreError`: invalidEvent, noImage, programNeeded, epochChanged where a cut took off what was read; or what the fold
    ///   throws, unconverted.
    public func state<State: Sendable>(
        of stream: StreamName, _ fold: StreamFold<State>, cache: StateCache<State>? = nil
    ) throws -> StreamState<State> {
        let evolution = try evolving.current()
        let fingerprint = StateCache<State>.Fingerprint(
            store: evolution.state.storeID, name: fold.name, revision: fold.revision, version: fold.version,
            stamp: evolution.state.stamp)
        var cursor = EventCursor(self, of: stream)
        var result = StreamState(value: fold.initial, revision: nil, folded: 0, wasKept: false, checkpoint: evolution.last)
        // Order: the count of `forget` calls is read before any event, so that a state from before one is not cached as newer.
        let forgetCount = cache == nil || log.keyFile == nil ? 0 : try log.reading { try $0.forgetCount }
        var kept = cache?.entry(stream.text, fingerprint, asOf: forgetCount)
        if let entry = kept, try !isInLog(entry.checkpoint) { kept = nil }
        var isNew = kept == nil
        if isNew, let cache { kept = try saved(stream, fingerprint, cache) }
        if let kept {
            (result.value, result.wasKept) = (kept.state, true)
            cursor.resume(behind: kept.last, kept.checkpoint)
        }
        let history = try history(serving: fold.version, evolution.history)
        let converter = try EventConverter(self, history, at: fold.version, in: .stream)
        while !cursor.isEnded {
            for event in try cursor.page(converter) {
                if try fold.apply(event, to: &result.value) { result.folded += 1 }
                isNew = true
            }
        }
        result.revision = cursor.last
        // This also covers hidden events and those of the cached state. The epoch stays that of the start, which is on the safe side.
        result.checkpoint.position = max(result.checkpoint.position, cursor.seen.position)
        if let cache, let last = result.revision, isNew {
            var entry = StateCache<State>.Entry(
                fingerprint: fingerprint, state: result.value, last: last, checkpoint: result.checkpoint, saved: kept?.saved)
            if isDue(entry, cache) {
                // This is noted even if saving fails: the next attempt comes after as many events.
                entry.saved = last
                save(stream, entry, cache, lastEvent: cursor.seen.position)
            }
            cache.put(entry, for: stream.text, asOf: forgetCount)
        }
        return result
    }

    /// The state of a stream on the disk, where it belongs to this log and was made by this fold.
    private func saved<State>(
        _ stream: StreamName, _ fingerprint: StateCache<State>.Fingerprint, _ cache: StateCache<State>
    ) throws(EvstoreError) -> StateCache<State>.Entry? {
        guard let saving = cache.saving, mayBeSaved(fingerprint) else { return nil }
        let identity = SavedState.identity(fingerprint, stream)
        guard let saved = SavedState.read(ofFold: fingerprint.name, stream, identity, in: path) else { return nil }
        let epoch = try log.reading { reader in try reader.link(at: saved.position) == saved.link ? reader.last.epoch : nil }
        guard let epoch else { return nil }
        do {
            return StateCache<State>.Entry(
                fingerprint: fingerprint, state: try saving.decode(saved.state), last: saved.revision,
                checkpoint: Checkpoint(epoch: epoch, position: saved.position), saved: saved.revision)
        } catch {
            // The Swift type has changed but the fold's revision has not.
            logger.warning("can't read a saved state", metadata: ["fold": "\(fingerprint.name)", "reason": "\(SwiftValues.reason(error))"])
            return nil
        }
    }

    /// Whether a state may be stored on the disk: not where `forget` would have to find it, and not where it depends on the steps of a
    /// version that is not registered and may still change.
    private func mayBeSaved<State>(_ fingerprint: StateCache<State>.Fingerprint) -> Bool {
        log.keyFile == nil && fingerprint.version <= fingerprint.stamp.numbers.head
    }

    /// Whether enough events came since a state was last saved to save it again.
    private func isDue<State>(_ entry: StateCache<State>.Entry, _ cache: StateCache<State>) -> Bool {
        guard let saving = cache.saving, !isReadOnly, mayBeSaved(entry.fingerprint) else { return false }
        let since = entry.saved.map { entry.last.rawValue.minus($0.rawValue) } ?? entry.last.next.rawValue
        return since >= UInt64(saving.events)
    }

    private func save<State>(
        _ stream: StreamName, _ entry: StateCache<State>.Entry, _ cache: StateCache<State>, lastEvent position: Position
    ) {
        let fold = entry.fingerprint.name
        do {
            let number = try work.begin(Job("save a state"))
            defer { work.end(number) }
            guard let state = try cache.saving?.encode(entry.state), state.count <= SavedState.bytesMax,
                try Directory.freeBytes(path) > UInt64(clamping: options.freeDiskFloorBytes.plus(state.count))
            else { return }
            let link = try log.read { reader in
                // Order: this is checked together with the link, so that the link belongs to the log whose events were folded.
                try reader.requireUncut(entry.checkpoint)
                return try reader.link(at: position)
            }
            guard let link else { return }
            let saved = SavedState(link: link, position: position, revision: entry.last, state: state)
            let identity = SavedState.identity(entry.fingerprint, stream)
            if try saved.write(ofFold: fold, stream, identity, in: path),
                try cache.isFull(ofFold: fold, in: path, counting: { try SavedState.count(ofFold: fold, in: path) })
            {
                try SavedState.removeAll(ofFold: fold, in: path)
            }
        } catch { logger.warning("can't save a state", metadata: ["fold": "\(fold)", "reason": .stringConvertible(error.advised)]) }
    }
}

/// Keeps the last folded states of streams in memory and, if asked for, those of long streams on the disk. Without a cache, streams are
/// folded from all events.
///
/// A state is reused by the fold with the same name, revision and version, on the same store, while the store's versions and the folded
/// part of its log stay the same; otherwise the stream is folded anew. Nothing is kept after a `forget`, by any process.
public final class StateCache<State: Sendable>: Sendable {
    struct Fingerprint: Hashable {
        var store: StoreID
        var name: String
        var revision: Int
        var version: SchemaVersion
        var stamp: StateStamp
    }

    struct Entry {
        var fingerprint: Fingerprint
        var state: State
        var last: Revision
        var checkpoint: Checkpoint
        /// The revision up to which the state on the disk goes; nil where there is none.
        var saved: Revision?
    }

    private let limit: Int
    private struct Kept {
        var entries: [String: Entry] = [:]
        /// The number of states on the disk by store and fold, as far as this cache knows; empty before it has looked.
        var files: [String: Int] = [:]
        /// How often each store had forgotten something when these states were folded.
        var forgetCount: [StoreID: UInt64] = [:]
    }

    private let kept = Monitor(Kept())
    let saving: StateSaving<State>?

    /// - Parameter streamsMax: the number of streams beyond which the cache is emptied.
    public convenience init(streamsMax: Int = 65_536) { self.init(streamsMax, nil) }

    /// Keeps the states of long streams in the store's directory, too, so that a new process folds only newer events.
    ///
    /// They are identified by the fold's name and revision: **if code changes but its revision does not, it continues with states that the
    /// old code made.** A state is written when this many events of its stream came since it was last written, if it has at most 4 MiB. The
    /// files may be deleted at any time. Nothing is written in a store whose events are sealed.
    /// - Parameters:
    ///   - streamsMax: the number of streams beyond which the cache is emptied, together with the fold's states on the disk.
    ///   - events: how many events of a stream come between two saves; at least 1.
    public convenience init(streamsMax: Int = 65_536, savedEvery events: Int) where State: Codable {
        self.init(
            streamsMax,
            StateSaving(
                events: max(events, 1), encode: { try SwiftValues.payloads.encode($0) },
                decode: { try SwiftValues.payloads.decode(State.self, from: $0, hasUniqueNames: true) }))
    }

    private init(_ streamsMax: Int, _ saving: StateSaving<State>?) { (limit, self.saving) = (max(streamsMax, 1), saving) }

    /// Counts a new state on the disk.
    /// - Returns: whether there are now too many: the caller must remove all of them.
    func isFull(ofFold fold: String, in store: String, counting count: () throws -> Int) rethrows -> Bool {
        let place = "\(store)\n\(fold)"
        let files = try kept.withLock { $0.files[place] }.map { $0 + 1 } ?? count()
        let isFull = files > limit
        kept.withLock { $0.files[place] = isFull ? 0 : files }
        return isFull
    }

    /// The number of streams that have a cached state.
    public var count: Int { kept.withLock { $0.entries.count } }

    public func removeAll() { kept.withLock { $0.entries.removeAll() } }

    /// - Parameter forgetCount: how often the store has forgotten something until now.
    func entry(_ stream: String, _ fingerprint: Fingerprint, asOf forgetCount: UInt64) -> Entry? {
        kept.withLock { kept in
            if let before = kept.forgetCount.updateValue(forgetCount, forKey: fingerprint.store), before != forgetCount {
                kept.entries.removeAll()
            }
            return kept.entries[stream]
        }.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
    }

    /// - Parameter forgetCount: the count as it was before the entry's events were read.
    func put(_ entry: Entry, for stream: String, asOf forgetCount: UInt64) {
        kept.withLock { kept in
            // The state may contain data that was forgotten since.
            if kept.forgetCount[entry.fingerprint.store] != forgetCount { return }
            if kept.entries.count >= limit, kept.entries[stream] == nil { kept.entries.removeAll(keepingCapacity: true) }
            kept.entries[stream] = entry
        }
    }
}

/// The coding of states for the disk, and the number of events between two saves.
struct StateSaving<State: Sendable>: Sendable {
    let events: Int
    let encode: @Sendable (State) throws -> [UInt8]
    let decode: @Sendable ([UInt8]) throws -> State
}

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
        try WholeFile.write(file.array(), to: path, under: "\(path).\(OwnedDirectory.number())", .nothing)
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
