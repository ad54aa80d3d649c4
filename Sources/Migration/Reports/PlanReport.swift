public import EventModel

/// What a replay would do; made without changing anything.
public struct PlanReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// All events of the log, whatever happens to them.
    public var events: UInt64 = 0
    /// Projections whose read models the replay builds anew, by name.
    public var rebuild: [String] = []
    /// Projections that stay as they are, because no step on the way touches what they read.
    public var carry: [String] = []
    /// Of `rebuild`, those that the live version does not have.
    public var new: [String] = []
    /// What the steps on the way lose.
    public var loss: [PlannedLoss] = []
    /// What adoption makes of the events of the sample that are from before versions existed; nil where there are none.
    public var adoption: AdoptionReport?
    /// Steps that have no way down, each as `v5: reason`.
    public var oneWay: [String] = []
    /// Steps in Swift that this program does not have: it can't replay past them, and what they do is not measured.
    public var needs: [String] = []
    /// Estimated from a sample; 0 where nothing is to be built.
    public var seconds: Double = 0
    /// Estimated further disk space, in bytes.
    public var bytes: UInt64 = 0
    /// How many events were measured for the estimate.
    public var sample: UInt64 = 0
    /// What happens to each type, by type and birth.
    public var types: [PlannedType] = []
    /// The widest class among the steps on the way: iso, widen, narrow or partial.
    public var opClass = "iso"
    /// Whether a replay has anything to do.
    public var pending = false
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
}

/// What one op of a step may lose.
public struct PlannedLoss: Hashable, Sendable {
    public var version: SchemaVersion
    public var type: String
    public var what: String
    /// Whether the step says why (`because`, `hide`).
    public var declared: Bool
    /// How many events of the sample lost something there.
    public var count: UInt64
}
