public import EventModel

/// The result of one call of `follow`.
public struct FollowReport: Hashable, Sendable {
    /// Whether this call made the replica; otherwise it existed already.
    public var isMade: Bool
    /// Whether there was a backup that the replica did not have yet.
    public var isNew: Bool
    /// The replica's last position, in its original's epoch.
    public var position: Position
    public var epoch: Epoch
    /// How many events are new in the replica.
    public var events: UInt64
    /// When the backup was made that the replica now holds.
    public var backupTime: Timestamp
    /// The bytes that were read from backups.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}

/// The state of a replica when it became a store of its own.
public struct PromoteReport: Hashable, Sendable {
    /// The last position, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// When its last backup was made: the replica lacks what its original has appended since.
    public var backupTime: Timestamp
}
