public import EventModel

/// The plan of a replay, or of a rollback where the version is lower; making it changes nothing.
public struct PlanReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events that the builds read, or that an existing read model lacks; 0 where there are none.
    public var events: UInt64 = 0
    /// Projections whose read models are built, by name.
    public var rebuild: [String] = []
    /// The source of each of `rebuild`; for a rollback it is always events.
    public var ways: [PlannedWay] = []
    /// Projections that stay as they are because no step on the way touches what they read; for a rollback, those that exist.
    public var carry: [String] = []
    /// Those of `rebuild` that the live version does not have.
    public var new: [String] = []
    /// Projections that the live version has and `to` lacks.
    public var gone: [String] = []
    /// For a rollback, the events since the flip that is undone: the rollback keeps them.
    public var tail: UInt64 = 0
    /// The number of rows of the existing read models.
    public var rows: UInt64 = 0
    /// The losses of the steps on the way, and the data of events newer than `to` that it does not show.
    public var loss: [PlannedLoss] = []
    /// Events that were born above `to`: a rollback shows them through the steps down.
    public var bornAbove: UInt64 = 0
    /// The result of adopting the sample's events from before versions existed; nil where there are none.
    public var adoption: AdoptionReport?
    /// Steps without a way down, each as `v5: reason`.
    public var oneWay: [String] = []
    /// Swift steps that this program lacks: it can't replay past them, and their effects are not measured.
    public var needs: [String] = []
    /// Events that programs without a Swift step can no longer append once the version is live, whichever version they work at: the gate
    /// needs the step for each such event. A replay asks for consent to this.
    public var appendsRefused: [RefusedAppends] = []
    /// How long it would take, an estimate; zero where nothing is to be built.
    public var duration: Duration = .zero
    /// The estimated additional disk space in bytes.
    public var bytes: UInt64 = 0
    /// The number of events that were examined: for the estimate and the losses; for a rollback for the losses only.
    public var sample: UInt64 = 0
    /// What happens to the events of each type and birth version.
    public var types: [PlannedType] = []
    /// The widest class among the steps on the way: iso, widen, narrow or partial.
    public var opClass = "iso"
    /// Events in the quarantine of read models that are carried over, each counted once. A replay counts them, and the command then exits
    /// with 8.
    public var quarantined: UInt64 = 0
    /// Events that only the replay examines, and that may have no image: those whose type a step changes and that a read model to be built
    /// consumes, beyond the sample and the first events of the log.
    public var notSeen: UInt64 = 0
    /// Whether the replay or rollback has anything to do.
    public var pending = false
    /// Why a replay with these options, or a rollback, would stop, in the order in which it would find out.
    public var refused: [PlannedRefusal] = []
    /// The rollback that is planned, or the one that would be possible after the planned replay.
    public var rollback = PlannedRollback()

    /// Whether the plan is for a rollback.
    public var isRollback: Bool { to < from }
}

/// The source of a read model.
public struct PlannedWay: Hashable, Sendable {
    public var projection: String
    /// The number of rows of the live version that it is made from; nil where it is made from events.
    public var rows: UInt64?
    /// Why it is not made from rows, as a clause; nil where it is, or where the live version has none.
    public var because: String?
}

/// The target of a rollback, and the programs that it would not serve.
public struct PlannedRollback: Hashable, Sendable {
    /// Nil where no rollback is possible.
    public var to: SchemaVersion?
    /// Why the rollback would be refused; nil where it would not.
    public var refused: PlannedRefusal?
    /// Swift read models of the target version that this program lacks: it has to leave them behind (`without`).
    public var without: [String] = []
    /// Events that programs without a Swift step could not read at the target version.
    public var readsRefused: [RefusedReads] = []
}

/// The events that no program without a step can read at an older version.
public struct RefusedReads: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// The event types, by their names at their birth versions.
    public var types: [String]
    /// The current number of such events.
    public var events: UInt64
}

/// Why a replay or a rollback would be refused.
public struct PlannedRefusal: Hashable, Sendable {
    /// The error that it would end with.
    public var error: EvstoreError

    public var code: String { error.code }
    public var message: String { error.message }
    public var fix: String? { error.fix }
}

/// The events that no program without a step can append.
public struct RefusedAppends: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// The event types, by their names at the promised versions below the target.
    public var types: [String]
}

/// What happens to the events of one type and birth version.
public struct PlannedType: Hashable, Sendable {
    public var type: String
    public var born: SchemaVersion
    public var count: UInt64
    /// The types that they may have at the target; empty where a step drops or hides them.
    public var becomes: [String]
    /// The ops on the way in a few words, such as `move x2, split`; `unchanged` where there are none.
    public var changes: String
    /// The number of events of this type in the sample that have no image.
    public var failures: UInt64
    /// Why events of the type go through their ops one by one, at about a third of the speed of one pass; nil where they don't.
    public var opByOp: String?
}

/// What one op of a step may lose.
public struct PlannedLoss: Hashable, Sendable {
    public var version: SchemaVersion
    public var type: String
    public var what: String
    /// Whether the step says why (`because`, `hide`).
    public var declared: Bool
    /// Whether a replay asks for consent: the loss is on the way up, no step declares it, and it is more than another form of a value.
    public var asks: Bool
    /// The number of events in the sample that lost something here.
    public var count: UInt64
    /// The first of these events; nil where there is none.
    public var first: Position?
}
