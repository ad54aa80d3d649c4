internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform

/// Keeps the last folded states of streams in memory; without it they are folded from all events.
///
/// A state is used again by the fold of the same name, revision and version, on the same store, while the store's versions
/// and the part of its log that was folded stay the same; every other case folds the stream anew. Nothing is kept over a
/// `forget`, by whatever process.
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
        /// The last stored event of the stream that was looked at.
        var last: Revision
        var checkpoint: Checkpoint
    }

    private let limit: Int
    private struct Kept {
        var entries: [String: Entry] = [:]
        /// How often each store had forgotten something when these were folded.
        var forgettings: [StoreID: UInt64] = [:]
    }

    private let kept = Monitor(Kept())

    /// - Parameter streamsMax: the number of streams beyond which the cache is emptied.
    public init(streamsMax: Int = 65_536) { limit = max(streamsMax, 1) }

    /// How many streams have a cached state.
    public var count: Int { kept.withLock { $0.entries.count } }

    public func removeAll() { kept.withLock { $0.entries.removeAll() } }

    /// - Parameter forgettings: how often the store has forgotten something by now.
    func entry(_ stream: String, _ fingerprint: Fingerprint, asOf forgettings: UInt64) -> Entry? {
        kept.withLock { kept in
            if let before = kept.forgettings.updateValue(forgettings, forKey: fingerprint.store), before != forgettings {
                kept.entries.removeAll()
            }
            return kept.entries[stream]
        }.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
    }

    /// - Parameter forgettings: as it was before the entry's events were read.
    func put(_ entry: Entry, for stream: String, asOf forgettings: UInt64) {
        kept.withLock { kept in
            // The state may be of data that was forgotten since.
            if kept.forgettings[entry.fingerprint.store] != forgettings { return }
            if kept.entries.count >= limit, kept.entries[stream] == nil { kept.entries.removeAll(keepingCapacity: true) }
            kept.entries[stream] = entry
        }
    }
}
