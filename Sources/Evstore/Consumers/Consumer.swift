public import EventModel

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
    /// Nil where it takes all types.
    public var types: [String]?
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
