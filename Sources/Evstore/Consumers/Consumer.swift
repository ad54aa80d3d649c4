public import EventModel

/// Where a consumer that is new begins; one that is known goes on where it was.
public enum ConsumerStart: Hashable, Sendable {
    /// With the log's first event.
    case start
    /// With what is appended from now on.
    case end
    /// Behind a place that was noted elsewhere.
    case after(Checkpoint)
}

/// How often an event that a consumer could not handle is tried again, and when.
public struct RetryPolicy: Hashable, Sendable {
    /// How often an event is tried in all, at least once.
    public var attemptsMax = 10
    /// The pause before the second attempt; each further one is twice as long, up to `pauseMax`, and made longer or shorter by up to a
    /// fifth by chance.
    public var firstPause: Duration = .milliseconds(100)
    public var pauseMax: Duration = .seconds(60)

    public init() {}

    public init(attemptsMax: Int, firstPause: Duration = .milliseconds(100), pauseMax: Duration = .seconds(60)) {
        (self.attemptsMax, self.firstPause, self.pauseMax) = (attemptsMax, firstPause, pauseMax)
    }

    /// How long to wait behind an attempt, of which the first is 1.
    func pause(after attempt: Int) -> Duration {
        let factor = Double(sign: .plus, exponent: min(attempt - 1, 62), significand: 1)
        let plain = min(firstPause.inSeconds * factor, pauseMax.inSeconds)
        return .seconds(plain * .random(in: 0.8 ... 1.2))
    }
}

/// What becomes of an event that a consumer could not handle, however often it was tried.
public enum ConsumerFailureRule: String, Hashable, Sendable, CaseIterable {
    /// It is put aside and listed, and the consumer goes on, also with later events of its stream.
    case park
    /// The consumer ends with an error, and its place stays before the event.
    case stop
}

/// How a consumer works.
public struct ConsumerOptions: Hashable, Sendable {
    public var retry = RetryPolicy()
    public var onFailure = ConsumerFailureRule.park
    /// How many events are handled side by side; those of one stream always one after the other.
    public var concurrency = 1
    /// After how long the place is saved where a page takes longer, or brings nothing that is wanted; behind a page of handled
    /// events it is saved at once, at most ten times a second.
    public var checkpointInterval: Duration = .seconds(1)
    /// Whether it ends when it has come to the log's end; else it waits for what is appended.
    public var endsAtLogEnd = false

    public init(
        retry: RetryPolicy = .init(), onFailure: ConsumerFailureRule = .park, concurrency: Int = 1,
        checkpointInterval: Duration = .seconds(1), endsAtLogEnd: Bool = false
    ) {
        (self.retry, self.onFailure, self.concurrency) = (retry, onFailure, concurrency)
        (self.checkpointInterval, self.endsAtLogEnd) = (checkpointInterval, endsAtLogEnd)
    }
}

/// What a consumer's handler is told beside the events.
public struct ConsumerContext: Hashable, Sendable {
    public var consumer: String
    /// 1 at the first attempt; goes on where the event was failing when this process began.
    public var attempt: Int
    /// The place behind these events. A target that keeps it in the transaction of its own change, and gives it to `after` when it begins,
    /// takes in each event once.
    public var checkpoint: Checkpoint
}

/// A consumer as its store knows it.
public struct ConsumerStatus: Hashable, Sendable {
    public var name: String
    /// Up to where the log was handled.
    public var place: Checkpoint
    public var version: SchemaVersion
    /// Nil where it takes events of all types.
    public var types: [String]?
    /// Events of the log behind the place, of whatever type.
    public var lag: UInt64
    /// Events handled since it is known.
    public var handled: UInt64
    /// Events that were put aside.
    public var parked: UInt64
    /// The event that failed at its last attempt, and why; nil where none has since the place moved past it.
    public var failing: Position?
    public var error: String?
    /// The process that handles events; nil where none does.
    public var holder: String?
}
