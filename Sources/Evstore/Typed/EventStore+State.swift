internal import EventLog
public import EventModel
internal import Projections
internal import SchemaEvolution

/// The state of a stream.
public struct StreamState<State: Sendable>: Sendable {
    public var value: State
    /// The stream's last event, also one that the fold passes by; nil where the stream is empty.
    public var revision: Revision?
    /// How many events were folded now: those since the kept state, or all.
    public var folded: Int
    /// Whether a kept state was gone on from.
    public var wasKept: Bool

    /// What an append that was decided on this state expects.
    public var expectation: Expectation { revision.map { .revision($0) } ?? .noStream }
}

extension EventStore {
    /// The state of a stream, by folding its events, or those since the state that `cache` kept. Works on the calling thread, a page in a
    /// transaction; its cost grows with the number of events that are folded.
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
        var place = StreamPlace(stream, limit: options.pageEventsMax)
        var result = StreamState(value: fold.initial, revision: nil, folded: 0, wasKept: false)
        // Order: read before any event is.
        let forgettings = cache == nil || log.keyFile == nil ? 0 : try converting(at: path) { try log.read { try $0.forgettings } }
        if let kept = cache?.entry(stream.text, fingerprint, asOf: forgettings), isValid(kept.checkpoint) {
            result = StreamState(value: kept.state, revision: kept.last, folded: 0, wasKept: true)
            (place.last, place.seen) = (kept.last, kept.checkpoint)
        }
        let history = try history(serving: fold.version, evolution.history)
        let eventReader = try EventReader(self, history, at: fold.version)
        var checkpoint = Checkpoint(epoch: evolution.last.epoch, position: .start)
        while true {
            let page = try converting(at: path) { try log.read { try self.page(at: &place, eventReader, $0) } }
            for event in page.events {
                if try fold.apply(event, to: &result.value) { result.folded += 1 }
                checkpoint.position = event.position
            }
            if page.isLast { break }
        }
        result.revision = place.last
        if let cache, let last = result.revision, !result.wasKept || checkpoint.position > .start {
            // A page of hidden events has no position to be cut at: the state is kept as of the log's end before it was read.
            if checkpoint.position < evolution.last.position { checkpoint.position = evolution.last.position }
            cache.put(
                .init(fingerprint: fingerprint, state: result.value, last: last, checkpoint: checkpoint), for: stream.text,
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
