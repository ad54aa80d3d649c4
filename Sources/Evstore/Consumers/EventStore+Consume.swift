internal import EventLog
public import EventModel
internal import Projections

extension EventStore {
    /// Calls a handler for each event in the log, and remembers the place: for mails, calls, another database. Replays never run it.
    ///
    /// Continues until the task is cancelled; then the current event is finished, the place is saved, and the call returns. An event is
    /// handled at least once: again where the process ends between the handler's end and the next save of the place. Events come in the
    /// order of the log; with `concurrency`, only those of one stream keep their order.
    ///
    /// One process handles the events of a name at a time. Other processes that call this wait, and one of them takes over within 0.2 s
    /// when the first one ends, for whatever reason.
    ///
    /// - Parameters:
    ///   - name: 1 to 100 bytes; the same in each process and after each start.
    ///   - start: where a consumer begins that the store does not know yet.
    ///   - types: the types that it takes, by their names at the version; nil takes all.
    ///   - version: the version at which it sees events, before and after a flip and a rollback; the working version where nil.
    ///   - options: retries, what happens to an event that failed at every attempt, concurrency, and whether the consumer ends at the log's
    ///     end. By default an event is parked after 10 attempts, one is handled at a time, and the consumer waits for new ones.
    ///   - handler: throws where it could not handle the event, which is then retried (`ConsumerOptions.retry`).
    ///     `EvstoreError.consumerStopped` ends the consumer at once, its place before the event. The handler is not cancelled with the
    ///     task.
    /// - Throws: `EvstoreError`: consumerStopped, where `onFailure` is `stop`; epochChanged where a cut took off events that it has handled
    ///   (`maintenance.resetConsumer`); belowFloor; unknownType; noImage, with the position of an event that can't be seen at the version:
    ///   the caller can move past it by `maintenance.resetConsumer`; programNeeded; usage where the name can't be one, or the log does not
    ///   reach `start`; misuse where `batch`, `concurrency` or `attemptsMax` is below 1.
    public func consume(
        _ name: String, from start: ConsumerStart = .start, types: [String]? = nil, at version: SchemaVersion? = nil,
        options: ConsumerOptions = .init(), _ handler: @escaping @Sendable (RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, types: types, at: version, batch: 1, options: options) { events, context in
            for event in events { try await handler(event, context) }
        }
    }

    /// Handles each event of a Swift type as the other `consume` does, at the type's version. An event that the type can't read counts as
    /// one that could not be handled.
    public func consume<E: Event>(
        _ name: String, _ type: E.Type, from start: ConsumerStart = .start, options: ConsumerOptions = .init(),
        _ handler: @escaping @Sendable (E, RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, types: [E.type], at: E.version, options: options) { event, context in
            try await handler(event.decode(type), event, context)
        }
    }

    /// Handles up to `batch` events at once, otherwise like the other `consume`. Where the handler throws, the events of the batch are
    /// retried one by one.
    public func consume(
        _ name: String, from start: ConsumerStart = .start, types: [String]? = nil, at version: SchemaVersion? = nil, batch: Int,
        options: ConsumerOptions = .init(), _ handler: @escaping @Sendable ([RecordedEvent], ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try ConsumerRow.checkName(name)
        if isReadOnly { throw .readOnly(path: path) }
        try log.requireOwn()
        guard batch > 0, options.concurrency > 0, options.retry.attemptsMax > 0 else {
            throw .misuse("a batch, the concurrency and the attempts of a consumer are at least 1")
        }
        let version = try effective(version)
        let history = try history(serving: version, evolving.current().history)
        for type in types ?? [] where version.rawValue > 0 { _ = try history.requireShape(of: type, at: version) }
        let run = ConsumerRun(
            store: self, name: name, types: types, version: version, batch: batch, options: options, handler: handler)
        try await awaiting(at: path) { try await run.run(from: start) }
    }
}
