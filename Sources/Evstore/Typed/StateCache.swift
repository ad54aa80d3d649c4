internal import EventLog
internal import EventModel
internal import JSONText
internal import LMDB
internal import Platform

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
        /// The last stored event of the stream that was read.
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
                events: max(events, 1), encode: { try EventJSON.coding.encode($0) },
                decode: { try EventJSON.coding.decode(State.self, from: $0, hasUniqueNames: true) }))
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
