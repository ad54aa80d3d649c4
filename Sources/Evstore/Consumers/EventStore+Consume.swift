internal import EventLog
public import EventModel
internal import Projections

extension EventStore {
    /// Handles each event once it is in the log, and keeps the place: mails, calls, another database. Replays never run it.
    ///
    /// Goes on until the task is cancelled; the event at hand is then finished, the place saved, and the call returns. An event is handled
    /// at least once: again where the process ends between the handler's end and the next save of the place. Events come in the order of
    /// the log, with `concurrency` those of each stream.
    ///
    /// One process handles the events of a name at a time; others that call this stand by, and one takes over within 0.2 s when the
    /// first one ends, however it ends.
    ///
    /// - Parameters:
    ///   - name: 1 to 100 bytes; the same in each process and after each start.
    ///   - start: where a consumer begins that the store does not know yet.
    ///   - types: the types, as they are called at the version, that it takes; nil takes all.
    ///   - version: at which it sees events, before and after a flip and a rollback; the working version where nil.
    ///   - handler: throws where it could not handle the event, which is then tried again (`ConsumerOptions.retry`); one that throws
    ///     `EvstoreError.consumerStopped` ends the consumer at once, its place before the event. It is not cancelled with the task.
    /// - Throws: `EvstoreError`: consumerStopped, where `onFailure` is `stop`; epochChanged where a cut took off what it has handled
    ///   (`maintenance.resetConsumer`); belowFloor; unknownType; noImage, with the position of an event that can't be seen at the version: it is for the
    ///   caller to go past it by `maintenance.resetConsumer`.
    public func consume(
        _ name: String, from start: ConsumerStart = .start, types: [String]? = nil, at version: SchemaVersion? = nil,
        options: ConsumerOptions = .init(), _ handler: @escaping @Sendable (RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, types: types, at: version, batch: 1, options: options) { events, context in
            for event in events { try await handler(event, context) }
        }
    }

    /// Handles each event of a Swift type, as it is at the type's version, as the other `consume` does. An event that the type can't read is
    /// one that could not be handled.
    public func consume<E: Event>(
        _ name: String, _ type: E.Type, from start: ConsumerStart = .start, options: ConsumerOptions = .init(),
        _ handler: @escaping @Sendable (E, RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, types: [E.type], at: E.version, options: options) { event, context in
            try await handler(event.decode(type), event, context)
        }
    }

    /// Handles up to `batch` events at once, else as the other `consume`. Where the handler throws, the events of the batch are tried again one by one.
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
