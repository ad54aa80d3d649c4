internal import EventLog
public import EventModel
internal import Projections
internal import SchemaEvolution

/// A stream's state, folded from its events.
public struct StreamState<State: Sendable>: Sendable {
    /// What the fold made of the events.
    public var value: State
    /// The revision of the stream's last event, also of one that the fold has no handler for; nil where the stream is empty.
    public var revision: Revision?
    /// How many events this call has folded: those since the cached state, or all.
    public var folded: Int
    /// Whether the fold began with a cached state.
    public var wasKept: Bool
    /// Up to where the log was read.
    public var checkpoint: Checkpoint

    /// The expectation for an append that was decided on this state: fails where the stream has changed since.
    public var expectation: Expectation { revision.map { .revision($0) } ?? .noStream }
}

extension EventStore {
    /// Folds the events of a stream, or those since the state in `cache`, to its state. The cost grows with the number of events that are
    /// folded.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    /// - Throws: `EvstoreError`: invalidEvent, noImage, programNeeded; or what the fold throws, as it is.
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
        let forgettings = cache == nil || log.keyFile == nil ? 0 : try converting(at: path) { try log.read { try $0.forgettings } }
        if let kept = cache?.entry(stream.text, fingerprint, asOf: forgettings), isValid(kept.checkpoint) {
            result = StreamState(value: kept.state, revision: kept.last, folded: 0, wasKept: true, checkpoint: evolution.last)
            cursor.resume(behind: kept.last, kept.checkpoint)
        }
        let history = try history(serving: fold.version, evolution.history)
        let eventReader = try EventReader(self, history, at: fold.version)
        var isNew = !result.wasKept
        while !cursor.isEnded {
            for event in try cursor.page(eventReader) {
                if try fold.apply(event, to: &result.value) { result.folded += 1 }
                isNew = true
            }
        }
        result.revision = cursor.last
        // Hidden events too, and those of the kept state. The epoch stays that of the beginning, which is on the safe side.
        result.checkpoint.position = max(result.checkpoint.position, cursor.seen.position)
        if let cache, let last = result.revision, isNew {
            cache.put(
                .init(fingerprint: fingerprint, state: result.value, last: last, checkpoint: result.checkpoint), for: stream.text,
                asOf: forgettings)
        }
        return result
    }

    private func isValid(_ seen: Checkpoint) -> Bool {
        do {
            try requireValid(seen)
            return true
        } catch { return false }
    }
}
