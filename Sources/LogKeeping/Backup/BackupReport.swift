public import EventModel

/// What one call of `backUp` has written.
public struct BackupReport: Hashable, Sendable {
    /// The last event in it.
    public var position: Position
    public var epoch: Epoch
    /// SHA-256 over the events themselves, in hexadecimal: the same for equal content in whatever store.
    public var content: String
    /// Bytes that this run has written.
    public var bytes: UInt64
    public var seconds: Double
    /// How many older runs were removed.
    public var pruned: Int
}

/// One run of a directory's backups: the store as it was at one time.
public struct BackupRun: Hashable, Sendable {
    /// The run's number in its directory.
    public var number: UInt64
    public var time: Timestamp
    /// The last event in it.
    public var position: Position
    public var epoch: Epoch
    /// As in `BackupReport`.
    public var content: String
    /// The size of all files of the run, also of those that it shares with other runs.
    public var bytes: UInt64
}

/// The result of verifying one run of a directory's backups.
public struct BackupVerdict: Hashable, Sendable {
    public var run: BackupRun
    /// What is wrong with the run's files; nil where every byte is as it was written.
    public var damage: String?
}

/// What was restored.
public struct RestoreReport: Hashable, Sendable {
    /// The last event of the restored store, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// The last event of the backup.
    public var backupPosition: Position
    /// The positions of the append that holds the requested position and ends behind it: it was left out, since an append is restored
    /// as a whole or not at all. Nil where the requested position ends an append.
    public var leftOut: ClosedRange<UInt64>?
    /// As in `BackupReport`, of the restored events.
    public var content: String
    /// Bytes that were read from the backup.
    public var bytes: UInt64
    public var seconds: Double
}

/// How far a backup is restored: up to a position, or up to the last commit at or before a time.
public enum RestoreTarget: Hashable, Sendable {
    case position(Position)
    case time(Timestamp)

    /// Digits are a position, everything else an RFC 3339 date-time; nil where it is neither.
    public init?(_ text: String) {
        if let number = UInt64(text) {
            self = .position(Position(number))
        } else if let time = Timestamp(text) {
            self = .time(time)
        } else {
            return nil
        }
    }
}
