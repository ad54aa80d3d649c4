internal import EventLog
internal import EventModel
internal import JSONText
internal import LMDB
internal import Platform

/// Keeps the last folded states of streams in memory, and of long ones on the disk where that is asked for; without it they are folded
/// from all events.
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
        /// Up to where the state on the disk goes; nil where there is none.
        var saved: Revision?
    }

    private let limit: Int
    private struct Kept {
        var entries: [String: Entry] = [:]
        /// How many states of each fold lie on the disk, by store and fold, as far as this cache knows; none before it has looked.
        var files: [String: Int] = [:]
        /// How often each store had forgotten something when these were folded.
        var forgettings: [StoreID: UInt64] = [:]
    }

    private let kept = Monitor(Kept())
    let saving: StateSaving<State>?

    /// - Parameter streamsMax: the number of streams beyond which the cache is emptied.
    public convenience init(streamsMax: Int = 65_536) { self.init(streamsMax, nil) }

    /// Keeps the states of long streams in the store's directory, too, so that a process that has just been started folds what came since.
    ///
    /// They are found by the fold's name and revision: **code that changes without its revision goes on with states that the old code
    /// made.** A state is written when so many events of its stream came since it was written last, and no longer than 4 MiB. What lies
    /// there may be deleted at any time. In a store whose events are sealed nothing is written.
    /// - Parameters:
    ///   - streamsMax: the number of streams beyond which the cache is emptied, and what of the fold lies on the disk.
    ///   - events: at least 1.
    public convenience init(streamsMax: Int = 65_536, savedEvery events: Int) where State: Codable {
        self.init(
            streamsMax,
            StateSaving(
                events: max(events, 1), encode: { try EventJSON.coding.encode($0) },
                decode: { try EventJSON.coding.decode(State.self, from: $0, hasUniqueNames: true) }))
    }

    private init(_ streamsMax: Int, _ saving: StateSaving<State>?) { (limit, self.saving) = (max(streamsMax, 1), saving) }

    /// Counts a state that is new on the disk.
    /// - Returns: whether these are more than there may be: they are to be removed, and none is left then.
    func isFull(ofFold fold: String, in store: String, counting count: () throws -> Int) rethrows -> Bool {
        let place = "\(store)\n\(fold)"
        let files = try kept.withLock { $0.files[place] }.map { $0 + 1 } ?? count()
        let isFull = files > limit
        kept.withLock { $0.files[place] = isFull ? 0 : files }
        return isFull
    }

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

/// How states become text for the disk, and after how many events one is written.
struct StateSaving<State: Sendable>: Sendable {
    let events: Int
    let encode: @Sendable (State) throws -> [UInt8]
    let decode: @Sendable ([UInt8]) throws -> State
}
