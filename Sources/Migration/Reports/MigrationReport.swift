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

/// What a rollback did.
public struct RollbackReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events that were appended since the flip that is undone; all of them are kept. For a cut: the events that it took off.
    public var tail: UInt64 = 0
    /// How long it took.
    public var duration: Duration = .zero
    public var position: Position
    /// Read models that were no longer on the disk and were rebuilt, by name.
    public var rebuilt: [String] = []
    /// Read models that were left behind until their program opens the store, by name.
    public var without: [String] = []
    /// What the older version does not show of the events born above it; nil where that could not be determined, and for a cut.
    public var loss: [PlannedLoss]?
    /// The number of events born above the older version, and how many of them were examined for `loss`.
    public var bornAbove: UInt64 = 0
    public var sample: UInt64 = 0
    /// How long writers waited for the flip; zero where nothing was flipped.
    public var flipPause: Duration = .zero
    /// When the flip began; nil where nothing was flipped.
    package var flipBegan: Timestamp?
    /// The archive of the events that a cut took off; nil otherwise.
    public var archive: String?
    /// Read models that differ from the snapshot's record after a cut, by name.
    public var differing: [String] = []
    /// Read models that differ from it because personal data was forgotten since the snapshot, by name. The store is sound.
    public var forgotten: [String] = []
}

/// The result of `finalize`.
public struct FinalizeReport: Hashable, Sendable {
    public var floor: SchemaVersion
    /// The number of generations that were deleted because no promised version names them.
    public var pruned: Int
}

/// The result of a drill.
public struct DrillReport: Hashable, Sendable {
    /// Whether every step and every law that was tried held.
    public var passed = false
    public var steps: [DrillStep] = []
    public var laws: [LawCount] = []
    /// What the drill proves nothing about, each in a few words.
    public var notExercised: [String] = []
    /// The version that it rolled back to, and the one that it came from; nil where no migration could be rehearsed.
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    /// The position of the store's last event when it was copied.
    public var position: Position
    /// Events that were generated for the newer version from events of the store, and that the rollback kept.
    public var appended: UInt64 = 0
    /// Generated events that the gate refused, since the older version could not have shown them.
    public var refused: UInt64 = 0
    public var loss: [PlannedLoss] = []
    public var quarantined: UInt64 = 0
    /// How long the restore from the backup took, including the building of the live version's read models.
    public var recovery: Duration?
    /// The number of the store's events that the backup lacks.
    public var recoveryPointEvents: UInt64?
    /// The seed of the generated events.
    public var seed: UInt64
    /// The path of the report.
    public var report: String = ""

    public init(position: Position, seed: UInt64) { (self.position, self.seed) = (position, seed) }
}

/// One step of a drill: a claim, and whether it held.
public struct DrillStep: Hashable, Sendable {
    public var name: String
    public var ok: Bool
    /// How long it took.
    public var duration: Duration
    /// The result, or what went wrong.
    public var detail: String
    /// The error of a failed step; `verificationFailed` where the claim did not hold.
    public var error: EvstoreError?

    public init(name: String, ok: Bool, duration: Duration, detail: String, error: EvstoreError? = nil) {
        (self.name, self.ok, self.duration, self.detail, self.error) = (name, ok, duration, detail, error)
    }
}
