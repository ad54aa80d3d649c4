public import EventModel

/// The options of a replay.
public struct MigrationOptions: Hashable, Sendable {
    /// Does all of the work from events in a scratch directory, discards it, and changes nothing.
    public var dryRun: Bool
    /// Builds only this projection, and does not flip.
    public var only: String?
    /// Builds every read model from its events, including those that would be kept or made from rows: this repairs wrong rows.
    public var fromEvents: Bool
    /// The number of worker threads; `Options.replayJobs` where nil.
    public var jobs: Int?
    public var onError: FailureRule
    /// Consents to one-way steps, to appends that programs without a Swift step can no longer make, and to losses that no step declares.
    public var yes: Bool
    /// Whether a row that violates its shape stops the replay.
    package var refusesRows = true

    public init(
        dryRun: Bool = false, only: String? = nil, fromEvents: Bool = false, jobs: Int? = nil, onError: FailureRule = .stop,
        yes: Bool = false
    ) {
        (self.dryRun, self.only, self.fromEvents, self.jobs) = (dryRun, only, fromEvents, jobs)
        (self.onError, self.yes) = (onError, yes)
    }
}

/// What a replay did.
public struct MigrationReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// The last position at the flip; where nothing was flipped, the end of what was read.
    public var position: Position = .start
    /// Events that the builds read, each counted once however many projections read it; 0 where all were made from rows.
    public var events: UInt64 = 0
    /// The number of these events that were born at a version other than `to`.
    public var upcast: UInt64 = 0
    /// Read models that were built, by name; empty where the version was already live.
    public var rebuilt: [String] = []
    /// Those of `rebuilt` that were made from the rows of the version before instead of from events, by name.
    public var fromRows: [String] = []
    /// The number of rows that these were made from.
    public var rows: UInt64 = 0
    /// Read models that stayed as they are, by name.
    public var carried: [String] = []
    /// Events that at least one read model has in quarantine, each counted once.
    public var quarantined: UInt64 = 0
    /// How long it took.
    public var duration: Duration = .zero
    /// How many of `events` were read in each second of `duration`.
    public var eventsPerSecond: Double = 0
    /// How long writers waited for the flip; nil where nothing was flipped.
    public var flipPause: Duration?
    /// When the flip began.
    package var flipBegan: Timestamp?
    /// The snapshot that was taken before; nil where there is none.
    public var snapshot: String?
    /// Events that were appended while the read models were built.
    public var arrived: UInt64 = 0
    /// The digest of each read model of the target version, built or carried, by projection, in hexadecimal digits.
    public var digests: [String: String] = [:]
}
