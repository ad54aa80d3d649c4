public import EventModel

/// What one call of `follow` has done for a replica.
public struct FollowReport: Hashable, Sendable {
    /// Whether the replica was made by it; else it was there.
    public var isMade: Bool
    /// Whether there was a backup that the replica did not have.
    public var isNew: Bool
    /// The replica's last event, in its original's epoch.
    public var position: Position
    public var epoch: Epoch
    /// How many events the replica did not have before.
    public var events: UInt64
    /// When the backup was made that the replica is as new as.
    public var backupTime: Timestamp
    /// Bytes that were read of backups.
    public var bytes: UInt64
    public var seconds: Double
}

/// What a replica was when it became a store of its own.
public struct PromoteReport: Hashable, Sendable {
    /// The last event, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// When the backup was made that it was as new as: what its original has appended since is not there.
    public var backupTime: Timestamp
}
