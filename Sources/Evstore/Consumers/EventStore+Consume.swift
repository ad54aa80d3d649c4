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
    ///   - query: the events that it takes, by their types and tags at the version; nil takes all. A new query of a known consumer holds
    ///     for the events behind its place. A tag that no event of the version can have throws `usage`.
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
        _ name: String, from start: ConsumerStart = .start, matching query: EventQuery? = nil, at version: SchemaVersion? = nil,
        options: ConsumerOptions = .init(), _ handler: @escaping @Sendable (RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, matching: query, at: version, batch: 1, options: options) { events, context in
            for event in events { try await handler(event, context) }
        }
    }

    /// Handles each event of a Swift type as the other `consume` does, at the type's version. An event that the type can't read counts as
    /// one that could not be handled.
    public func consume<E: Event>(
        _ name: String, _ type: E.Type, from start: ConsumerStart = .start, options: ConsumerOptions = .init(),
        _ handler: @escaping @Sendable (E, RecordedEvent, ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try await consume(name, from: start, matching: .type(E.type), at: E.version, options: options) { event, context in
            try await handler(event.decode(type), event, context)
        }
    }

    /// Handles up to `batch` events at once, otherwise like the other `consume`. Where the handler throws, the events of the batch are
    /// retried one by one.
    public func consume(
        _ name: String, from start: ConsumerStart = .start, matching query: EventQuery? = nil, at version: SchemaVersion? = nil, batch: Int,
        options: ConsumerOptions = .init(), _ handler: @escaping @Sendable ([RecordedEvent], ConsumerContext) async throws -> Void
    ) async throws(EvstoreError) {
        try ConsumerRow.checkName(name)
        if isReadOnly { throw .readOnly(path: path) }
        try log.requireOwn()
        guard batch > 0, options.concurrency > 0, options.retry.attemptsMax > 0 else {
            throw .misuse("a batch, the concurrency and the attempts of a consumer are at least 1")
        }
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        // Order: a consumer that is refused is not registered.
        if version < evolution.state.floor { throw .belowFloor(version, floor: evolution.state.floor) }
        try requirePossible(query, at: version)
        let run = ConsumerRun(
            store: self, name: name, query: query == .all ? nil : query, version: version, batch: batch, options: options, handler: handler)
        try await awaiting(at: path) { try await run.run(from: start) }
    }
}

/// Where a new consumer begins; a known one continues where it was.
public enum ConsumerStart: Hashable, Sendable {
    /// At the log's first event.
    case start
    /// With the events that are appended from now on.
    case end
    /// Behind a checkpoint that was saved elsewhere.
    case after(Checkpoint)
}

/// How often, and when, an event is retried that a consumer could not handle.
public struct RetryPolicy: Hashable, Sendable {
    /// The number of attempts in all, at least one. A batch that fails is the first attempt of each of its events, and each is then tried
    /// alone at least once.
    public var attemptsMax = 10
    /// The pause before the second attempt. Each further pause is twice as long, up to `pauseMax`, and varies at random by up to a fifth.
    public var firstPause: Duration = .milliseconds(100)
    public var pauseMax: Duration = .seconds(60)

    public init() {}

    public init(attemptsMax: Int, firstPause: Duration = .milliseconds(100), pauseMax: Duration = .seconds(60)) {
        (self.attemptsMax, self.firstPause, self.pauseMax) = (attemptsMax, firstPause, pauseMax)
    }

    /// The pause after an attempt; the first attempt is 1.
    func pause(after attempt: Int) -> Duration {
        let factor = Double(sign: .plus, exponent: min(attempt - 1, 62), significand: 1)
        let plain = min(firstPause.inSeconds * factor, pauseMax.inSeconds)
        return .seconds(plain * .random(in: 0.8 ... 1.2))
    }
}

/// What happens to an event that a consumer could not handle in any attempt.
public enum ConsumerFailureRule: String, Hashable, Sendable, CaseIterable {
    /// The event is put aside and listed; the consumer continues, also with later events of its stream.
    case park
    /// The consumer ends with an error, and its place stays before the event.
    case stop
}

/// Options of a consumer.
public struct ConsumerOptions: Hashable, Sendable {
    public var retry = RetryPolicy()
    public var onFailure = ConsumerFailureRule.park
    /// How many events are handled concurrently; the events of one stream are always handled in sequence.
    public var concurrency = 1
    /// After how long the place is saved where a page takes longer or has no wanted events. Behind a page of handled events it is saved at
    /// once, at most ten times a second.
    public var checkpointInterval: Duration = .seconds(1)
    /// Whether the consumer ends at the log's end; otherwise it waits for new events.
    public var endsAtLogEnd = false

    public init(
        retry: RetryPolicy = .init(), onFailure: ConsumerFailureRule = .park, concurrency: Int = 1,
        checkpointInterval: Duration = .seconds(1), endsAtLogEnd: Bool = false
    ) {
        (self.retry, self.onFailure, self.concurrency) = (retry, onFailure, concurrency)
        (self.checkpointInterval, self.endsAtLogEnd) = (checkpointInterval, endsAtLogEnd)
    }
}

/// What a consumer's handler receives besides the events.
public struct ConsumerContext: Hashable, Sendable {
    public var consumer: String
    /// The number of the attempt, from 1. Continues the count where an earlier process had failed with the event.
    public var attempt: Int
    /// The place behind these events. A target that stores it in the transaction of its own change, and passes it to `after` at its next
    /// start, takes in each event exactly once.
    public var checkpoint: Checkpoint
}

/// A consumer as its store knows it.
public struct ConsumerStatus: Hashable, Sendable {
    public var name: String
    /// The place up to which the log was handled.
    public var place: Checkpoint
    public var version: SchemaVersion
    /// Nil where it takes all events.
    public var query: EventQuery?
    /// Events in the log behind the place, of any type.
    public var lag: UInt64
    /// Whether a cut has taken off events that it had handled: `consume` ends with `epochChanged` until `maintenance.resetConsumer`.
    public var isCutOff: Bool
    /// Events handled since the consumer was registered.
    public var handled: UInt64
    /// Events that are parked.
    public var parked: UInt64
    /// The event that failed at its last attempt, and why; nil where none has failed since the place moved past it.
    public var failing: Position?
    public var error: String?
    /// The process that handles events; nil where none does.
    public var holder: String?
}
