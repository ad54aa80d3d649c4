public import EventModel

/// What a rollback did.
public struct RollbackReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events appended since the flip that is taken back; all of them are kept. For a cut: those taken off.
    public var tail: UInt64 = 0
    public var seconds: Double = 0
    public var position: Position
    /// Read models that were no longer on the disk and were built anew, by name.
    public var rebuilt: [String] = []
    /// Read models left behind until their program opens the store, by name.
    public var without: [String] = []
    /// What the older version does not show of the events that were born above it; nil where it could not be looked at, and for a cut.
    public var loss: [PlannedLoss]?
    /// Events of the log that were born above the older version, and how many of them were looked at for `loss`.
    public var bornAbove: UInt64 = 0
    public var sample: UInt64 = 0
    public var flipPauseMilliseconds: Double = 0
    /// When that began; nil where nothing was flipped.
    package var flipBegan: Timestamp?
    /// Where a cut put the events it took off; nil otherwise.
    public var archive: String?
    /// Read models that, after a cut, are not equal to what the snapshot noted, by name.
    public var differing: [String] = []
}

/// What a finalize did.
public struct FinalizeReport: Hashable, Sendable {
    public var floor: SchemaVersion
    /// Generations deleted because no promised version names them.
    public var pruned: Int
}
