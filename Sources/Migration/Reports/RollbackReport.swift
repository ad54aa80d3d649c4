public import EventModel

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
