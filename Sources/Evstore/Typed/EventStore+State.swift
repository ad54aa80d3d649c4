internal import Bytes
internal import EventLog
public import EventModel
internal import Hashing
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
        if let entry = kept, !isValid(entry.checkpoint) { kept = nil }
        var isNew = kept == nil
        if isNew, let cache { kept = try saved(stream, fingerprint, cache) }
        if let kept {
            (result.value, result.wasKept) = (kept.state, true)
            cursor.resume(behind: kept.last, kept.checkpoint)
        }
        let history = try history(serving: fold.version, evolution.history)
        let converter = try EventConverter(self, history, .version(fold.version), in: .stream)
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
            logger.warning("can't read a saved state", metadata: ["fold": "\(fingerprint.name)", "reason": "\(EventJSON.reason(error))"])
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
        } catch { logger.warning("can't save a state", metadata: ["fold": "\(fold)", "reason": "\(error)"]) }
    }

    private func isValid(_ seen: Checkpoint) -> Bool {
        do {
            try requireValid(seen)
            return true
        } catch { return false }
    }
}
