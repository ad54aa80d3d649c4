public import EventModel

/// What a drill has shown.
public struct DrillReport: Hashable, Sendable {
    /// Every step and every law that was tried held, and something was shown.
    public var passed = false
    public var steps: [DrillStep] = []
    public var laws: [LawCount] = []
    /// What the drill claims nothing of, each in a few words.
    public var notExercised: [String] = []
    /// The version it rolled back to, and the one it came from; nil where no migration could be rehearsed.
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    /// The last event of the store when it was copied.
    public var position: Position
    /// Events born at the newer version, made of events of the store, that the rollback kept.
    public var appended: UInt64 = 0
    /// Events so made that the gate refused, since the older version could not have shown them.
    public var refused: UInt64 = 0
    public var loss: [PlannedLoss] = []
    public var quarantined: UInt64 = 0
    /// How long the restore from the backup took, with the building of the live version's read models.
    public var recoverySeconds: Double?
    /// How many events of the store the backup does not have.
    public var recoveryPointEvents: UInt64?
    /// Of the events that were made up.
    public var seed: UInt64
    /// The path of the report.
    public var report: String = ""

    public init(position: Position, seed: UInt64) { (self.position, self.seed) = (position, seed) }
}

/// One step of a drill: what was claimed, and whether it was shown.
public struct DrillStep: Hashable, Sendable {
    public var name: String
    public var ok: Bool
    public var seconds: Double
    /// What was found, or what went wrong.
    public var detail: String
    /// What went wrong; `verificationFailed` where something was not as claimed.
    public var error: EvstoreError?

    public init(name: String, ok: Bool, seconds: Double, detail: String, error: EvstoreError? = nil) {
        (self.name, self.ok, self.seconds, self.detail, self.error) = (name, ok, seconds, detail, error)
    }
}
