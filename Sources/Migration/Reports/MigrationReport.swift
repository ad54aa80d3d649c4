public import EventModel

/// What a replay may be asked for.
public struct MigrationOptions: Hashable, Sendable {
    /// Does all of the work in a scratch directory, from events, throws it away and changes nothing.
    public var dryRun: Bool
    /// Builds this projection only, and does not flip.
    public var only: String?
    /// Builds every read model from its events, also those that would be kept or made from rows: what is wrong in a row is mended.
    public var fromEvents: Bool
    /// Worker threads; `Options.replayJobs` where nil.
    public var jobs: Int?
    public var onError: FailureRule
    /// Consent to one-way steps, to appends that programs without a step in Swift can't make any more, and to loss that no step declares.
    public var yes: Bool
    /// Whether a row that does not keep its shape stops it.
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
    /// The last position at the flip; the end of what was read where nothing was flipped.
    public var position: Position = .start
    /// Events that the builds read, each counted once however many projections read it; none where all were made from rows.
    public var events: UInt64 = 0
    /// How many of them were born at another version than `to`.
    public var upcast: UInt64 = 0
    /// Read models built anew, by name; none where the version was there already.
    public var rebuilt: [String] = []
    /// Those of `rebuilt` that were made from the rows of the version before, and not from events, by name.
    public var fromRows: [String] = []
    /// How many rows those were made of.
    public var rows: UInt64 = 0
    /// Read models that stayed as they are, by name.
    public var carried: [String] = []
    /// Events that at least one read model has in quarantine, each counted once.
    public var quarantined: UInt64 = 0
    public var seconds: Double = 0
    public var eventsPerSecond: Double = 0
    /// How long writers waited for the flip; nil where nothing was flipped.
    public var flipPauseMilliseconds: Double?
    /// When that began.
    package var flipBegan: Timestamp?
    /// The snapshot taken before; nil where none was.
    public var snapshot: String?
    /// Events that were appended while the read models were built.
    public var arrived: UInt64 = 0
    /// Hexadecimal digest of each read model of the target version, built or carried, by projection.
    public var digests: [String: String] = [:]
}
