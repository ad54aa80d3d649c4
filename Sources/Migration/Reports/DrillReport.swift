public import EventModel

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
