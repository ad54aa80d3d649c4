internal import EventLog
internal import EventModel
internal import LMDB

/// States of streams as they were folded last, in memory; whoever drops it loses time and nothing else.
///
/// A state is used again by the fold of the same name, revision and version, on the same store, while the store's versions
/// and the part of its log that was folded stay the same; every other case folds the stream anew.
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
    private let entries = Monitor<[String: Entry]>([:])

    /// - Parameter streamsMax: beyond so many it begins anew.
    public init(streamsMax: Int = 65_536) { limit = max(streamsMax, 1) }

    /// How many streams it holds a state of.
    public var count: Int { entries.withLock { $0.count } }

    public func removeAll() { entries.withLock { $0.removeAll() } }

    func entry(_ stream: String, _ fingerprint: Fingerprint) -> Entry? {
        entries.withLock { $0[stream] }.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
    }

    func put(_ entry: Entry, for stream: String) {
        entries.withLock { entries in
            if entries.count >= limit, entries[stream] == nil { entries.removeAll(keepingCapacity: true) }
            entries[stream] = entry
        }
    }
}
