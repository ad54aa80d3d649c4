public import EventModel

/// What was taken out of a damaged store.
public struct SalvageReport: Hashable, Sendable {
    /// The last event of the new store.
    public var position: Position
    public var epoch: Epoch
    public var events: UInt64
    /// Positions of the damaged store that nothing was found for; what lies beyond the last that anything tells of is not known.
    public var gaps: [ClosedRange<UInt64>]
    /// Events of which nobody says whether they were committed: in `unconfirmed.jsonl` of the new store, not in its log.
    public var unconfirmed: UInt64
    /// Streams whose names were lost: each is called `lost:` with the position of its first event.
    public var lostNames: [String]
    /// Tables beside the events of which the newest rows may be missing, such as `journal` or `imports`.
    public var lostRows: [String]
    /// Whether something tells which commit was the newest; else it may have cut off what came back, or added what did not.
    public var endKnown: Bool
    /// Whether the events have new positions, in a store with an id of its own: so it is where events are missing between others.
    public var renumbered: Bool
    public var bytesScanned: UInt64
    public var seconds: Double

    /// Whether nothing is known to be lost or in doubt.
    public var isComplete: Bool { gaps.isEmpty && unconfirmed == 0 && lostNames.isEmpty && lostRows.isEmpty && endKnown }

    /// The file of unconfirmed events, in the new store's directory.
    public static let unconfirmedName = "unconfirmed.jsonl"
}
