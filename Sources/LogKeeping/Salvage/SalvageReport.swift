public import EventModel

/// The result of a salvage.
public struct SalvageReport: Hashable, Sendable {
    /// The last position of the new store.
    public var position: Position
    public var epoch: Epoch
    /// How many events the new store has.
    public var events: UInt64
    /// Positions of the damaged store for which no event was found. Events after the last known position are unknown.
    public var gaps: [ClosedRange<UInt64>]
    /// Events that may or may not have been committed: they are in `unconfirmed.jsonl` of the new store, not in its log.
    public var unconfirmed: UInt64
    /// Streams whose names were lost: each is called `lost:` and the position of its first event.
    public var lostNames: [String]
    /// Tables other than the events whose newest rows may be missing, such as `journal` or `imports`.
    public var lostRows: [String]
    /// Whether the newest commit is known. If it is not, that commit may have discarded some of these events by a cut, or added events that
    /// are missing here.
    public var endKnown: Bool
    /// Whether the events have new positions, in a store with a new id. They do if events in between are missing, or if a slot holds
    /// another key than the one that an event was sealed under.
    public var renumbered: Bool
    /// Streams of a sealed store with a damaged key for personal data: the new store has their events as if they had been forgotten.
    public var lostKeys: [LostKey]
    /// Events of a sealed store that were found and can't be opened. They are not in the new store; those that were committed are among the
    /// gaps.
    public var unopened: UInt64
    /// The numbers of the missing data keys that those events were sealed under.
    public var dataKeys: [UInt32]
    public var bytesScanned: UInt64
    /// How long it took.
    public var duration = Duration.zero

    /// Whether no event, name, row or key is known to be lost or in doubt.
    public var isComplete: Bool {
        gaps.isEmpty && unconfirmed == 0 && lostNames.isEmpty && lostRows.isEmpty && endKnown && lostKeys.isEmpty && unopened == 0
    }

    /// The file of unconfirmed events, in the new store's directory.
    public static let unconfirmedName = "unconfirmed.jsonl"
}

/// A stream whose personal data a salvage could not read.
public struct LostKey: Hashable, Sendable {
    public var stream: String
    /// How many events have lost their personal data.
    public var events: UInt64
}
