internal import EventLog
public import EventModel
internal import Hashing
public import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The events that a query matches, read at one version.
public struct MatchingEvents: Sendable, Hashable {
    public var events: [RecordedEvent]
    public var version: SchemaVersion
    /// The end of the log when the read began: behind it, nothing was read. A subscription from here gives what comes later.
    public var checkpoint: Checkpoint
    /// Events that may match, can't be seen at the version, and were left out because somebody has accepted that
    /// (`maintenance.acceptQuarantined`).
    public var leftOut: Int
    /// The condition for an append that depends on these events: it fails where one that the query matches has come since. A decision on a
    /// part of them (`from`, `limit`) depends on no more.
    public var condition: AppendCondition
}

extension EventStore {
    /// Returns the events of the whole log that match a query, in the order of their positions.
    ///
    /// Where each item of the query names tags, the version's index of tags finds the events: it is brought to the log's end first, as a
    /// read model is by `query`, and built where it never was. The cost depends on how many events have the rarest tag of each item, not on
    /// the length of the log. Otherwise, at a version below the floor or above the top, and where the index can't be written, each event of
    /// the wanted types is looked at. Which of the two happens makes no difference to what is returned.
    ///
    /// All events are held in memory; for many use `events(at:from:backwards:matching:)`.
    /// - Parameters:
    ///   - query: which events are wanted, by their types and tags at the version.
    ///   - version: the version at which events are seen; nil is the working version.
    ///   - from: the first position, inclusive; nil is the log's first event, or its last one when reading backwards.
    ///   - limit: the most events, or some more where the last one is one of several parts; nil gives all.
    ///   - backwards: whether the last event comes first.
    /// - Throws: `EvstoreError`: usage for a query that says nothing; unknownType; noImage for an event that can't be seen at the version
    ///   and may match; programNeeded; epochChanged where a cut took off what was read; interrupted.
    public func read(
        matching query: EventQuery, at version: SchemaVersion? = nil, from: Position? = nil, limit: Int? = nil, backwards: Bool = false
    ) async throws(EvstoreError) -> MatchingEvents {
        let version = try effective(version)
        try await bringUpTagIndex(for: query, at: version)
        // Order: the condition is of the version's file as it was before anything was read by it.
        var condition = try condition(on: query, at: version)
        return try await StoreThreads.run { () throws(EvstoreError) in
            var cursor = try cursor(at: version, from: from, limit: limit, backwards: backwards, matching: query)
            let end = cursor.end ?? .start
            condition.after = end
            var events: [RecordedEvent] = []
            while var page = try cursor.next() {
                if Task.isCancelled { throw .interrupted(again: "read again") }
                if events.isEmpty { swap(&events, &page) } else { events += page }
            }
            return MatchingEvents(events: events, version: version, checkpoint: end, leftOut: cursor.leftOut, condition: condition)
        }
    }

    /// Returns the events that queries at a version leave out, by position.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func acceptedEvents(at version: SchemaVersion? = nil) throws(EvstoreError) -> [AcceptedEvent] {
        let version = try effective(version)
        return try log.reading { reader in try AcceptedEvent.all(at: version, in: reader) }
    }

    /// Requires that events of a version (the working one where nil) can match, as a call that waits for them does.
    /// - Throws: `EvstoreError`: unknownVersion; usage for a query that says nothing, and for a tag that no event can have there;
    ///   unknownType.
    package func requirePossible(_ query: EventQuery?, at version: SchemaVersion? = nil) throws(EvstoreError) {
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        let history = try history(serving: version, evolution.history)
        if let query { try EventFilter(query, history, at: version)?.requirePossible() }
    }

    /// Brings the index of a version's tags to the log's end where the query reads by it and this handle can; builds it where there is
    /// none.
    package func bringUpTagIndex(for query: EventQuery?, at version: SchemaVersion) async throws(EvstoreError) {
        guard let query, query.alwaysNamesTags, !isReadOnly else { return }
        let evolution = try evolving.current()
        guard evolution.state.floor <= version, version <= evolution.state.top, let definition = evolution.tagIndex(at: version) else {
            return
        }
        do { _ = try await readModel(of: definition, evolution, to: nil, mayLag: true) } catch {
            switch error {
            // What the index lacks is looked at event by event.
            case .diskFull, .readOnly, .programNeeded, .migrationInProgress, .deadlinePassed: return
            default: throw error
            }
        }
    }

    /// Where the events lie that a query may match, as far as the version's index of tags reaches; nil where the query does not read by
    /// tags alone, and where there is no index of the log's epoch.
    func postings(
        of query: EventQuery?, at version: SchemaVersion, from start: Position?, backwards: Bool, _ evolution: SchemaSnapshot
    ) throws(EvstoreError) -> TagPostings? {
        guard let query, query.alwaysNamesTags, let items = query.items, let definition = evolution.tagIndex(at: version),
            let name = evolution.state.generations[definition.fingerprint.hex]
        else { return nil }
        do throws(EvstoreError) {
            let generation = try generations.generation(name, in: self, evolution.state)
            let header = try generation.header
            guard header.isReady, header.checkpoint.epoch == evolution.state.epoch else { return nil }
            let codes = TagCodes(log)
            return try TagPostings(
                generation, header, of: items.map { $0.tags.map(codes.code) },
                from: start ?? (backwards ? evolution.last.position : Position(1)), backwards: backwards)
        } catch {
            // A damaged index, or one that was deleted meanwhile, is built anew by whoever may write.
            if case .storeDamaged(let what, _) = error, isReadModel(what) { return nil }
            throw error
        }
    }
}

extension StoreMaintenance {
    /// Has queries at a version leave out an event that can't be seen there, instead of ending at it: whoever decides by them decides
    /// without it. Reads without a query still end there. Waits for one durable transaction.
    /// - Parameters:
    ///   - position: the event's position in the log.
    ///   - version: the version at which it has no image; nil is the working version.
    ///   - reason: why it may be left out; it stays with the decision.
    /// - Throws: `EvstoreError.usage` where the reason is empty, where no event is there, and where the event can be seen.
    @discardableResult
    public func acceptQuarantined(
        _ position: Position, at version: SchemaVersion? = nil, reason: String
    ) async throws(EvstoreError) -> AcceptedEvent {
        if reason.allSatisfy(\.isWhitespace) { throw .usage("an event is left out for a reason, and this one is empty") }
        let version = try store.effective(version)
        guard let event = try store.event(position: position) else { throw .usage("there is no event at position \(position)") }
        do throws(EvstoreError) {
            _ = try store.view(position, at: version)
            throw EvstoreError.usage("no query ends at the event at position \(position) at \(version): there is nothing to accept")
        } catch {
            guard case .noImage = error else { throw error }
        }
        let accepted = AcceptedEvent(event, at: version, because: reason)
        try await store.log.changing { update in try update.put(.notes, accepted.key, accepted.value) }
        return accepted
    }
}
