public import EventModel

/// What a replay would do, or a rollback where it leads down; made without changing anything.
public struct PlanReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events that the builds read, or that a read model which is there has still to take in; 0 where there are none.
    public var events: UInt64 = 0
    /// Projections whose read models are built anew, by name.
    public var rebuild: [String] = []
    /// From what each of `rebuild` is made; on the way down from events.
    public var ways: [PlannedWay] = []
    /// Projections that stay as they are, because no step on the way touches what they read; on the way down, those that are there.
    public var carry: [String] = []
    /// Of `rebuild`, those that the live version does not have.
    public var new: [String] = []
    /// Projections that the live version has and `to` has not.
    public var gone: [String] = []
    /// On the way down, the events since the flip that is taken back: the rollback keeps them.
    public var tail: UInt64 = 0
    /// Rows of those read models that are there.
    public var rows: UInt64 = 0
    /// What the steps on the way lose, and what events that are newer than `to` have that it does not show.
    public var loss: [PlannedLoss] = []
    /// Events that were born above `to`: those that a rollback shows through the steps down.
    public var bornAbove: UInt64 = 0
    /// What adoption makes of the events of the sample that are from before versions existed; nil where there are none.
    public var adoption: AdoptionReport?
    /// Steps that have no way down, each as `v5: reason`.
    public var oneWay: [String] = []
    /// Steps in Swift that this program does not have: it can't replay past them, and what they do is not measured.
    public var needs: [String] = []
    /// What programs that lack a step in Swift can't append any more once the version is live, whichever version they work at: the
    /// gate needs the step for each such event. A replay asks for consent to it.
    public var appendsRefused: [RefusedAppends] = []
    /// Estimated from a sample; 0 where nothing is to be built.
    public var seconds: Double = 0
    /// Estimated further disk space, in bytes.
    public var bytes: UInt64 = 0
    /// How many events were looked at: for the estimate and the losses, on the way down for the losses alone.
    public var sample: UInt64 = 0
    /// What happens to each type, by type and birth.
    public var types: [PlannedType] = []
    /// The widest class among the steps on the way: iso, widen, narrow or partial.
    public var opClass = "iso"
    /// Events that read models which are carried over have in quarantine, each counted once. A replay counts them, and the command then exits with 8.
    public var quarantined: UInt64 = 0
    /// Events that only the replay looks at, and that may have no image: of types that a step changes and a read model to be built
    /// consumes, beyond the sample and the first of the log.
    public var notSeen: UInt64 = 0
    /// Whether a replay, or a rollback, has anything to do.
    public var pending = false
    /// Why a replay with these options, or a rollback, would stop, in the order in which it would find out.
    public var refused: [PlannedRefusal] = []
    /// The rollback that is planned, or the one that would be possible once the planned replay is done.
    public var rollback = PlannedRollback()

    /// Whether it leads down.
    public var isRollback: Bool { to < from }
}

/// From what a read model is made.
public struct PlannedWay: Hashable, Sendable {
    public var projection: String
    /// How many rows of the live version it is made of; nil where it is made of events.
    public var rows: UInt64?
    /// Why it is not made of rows, as a clause; nil where it is, or where the live version has none.
    public var because: String?
}

/// Where a rollback leads, and who would not be served by it.
public struct PlannedRollback: Hashable, Sendable {
    /// Nil where no rollback is possible.
    public var to: SchemaVersion?
    /// Why it would be refused; nil where it would not.
    public var refused: PlannedRefusal?
    /// Read models in Swift of that version which this program lacks: it has to leave them behind (`without`).
    public var without: [String] = []
    /// What programs that lack a step in Swift can't read any more at that version, once there are such events.
    public var readsRefused: [RefusedReads] = []
}

/// The events that no program without a step can read at an older version.
public struct RefusedReads: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// Event types, as they are called where they are born.
    public var types: [String]
    /// How many such events there are now.
    public var events: UInt64
}

/// Why a replay or a rollback would be refused.
public struct PlannedRefusal: Hashable, Sendable {
    /// What it would end with.
    public var error: EvstoreError

    public var code: String { error.code }
    public var message: String { error.message }
    public var fix: String? { error.fix }
}

/// The events that no program without a step can append.
public struct RefusedAppends: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// Event types, as they are called at the promised versions below the target.
    public var types: [String]
}

/// What becomes of the events of one type and birth version.
public struct PlannedType: Hashable, Sendable {
    public var type: String
    public var born: SchemaVersion
    public var count: UInt64
    /// The types it may be seen as at the target; none where a step drops or hides it.
    public var becomes: [String]
    /// The ops on the way in a few words, such as `move x2, split`; `unchanged` where there are none.
    public var changes: String
    /// How many events of the sample of this type have no image.
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
    /// Whether a replay asks for consent to it: it is lost on the way up, no step says so, and it is no mere other form of a value.
    public var asks: Bool
    /// How many events of the sample lost something there.
    public var count: UInt64
    /// The first of them; nil where there is none.
    public var first: Position?
}
