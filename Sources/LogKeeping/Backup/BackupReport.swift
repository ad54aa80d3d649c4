public import EventModel

/// The result of one call of `backUp`.
public struct BackupReport: Hashable, Sendable {
    /// The position of the last event in it.
    public var position: Position
    public var epoch: Epoch
    /// SHA-256 over the events, in hexadecimal: equal for equal content in any store.
    public var content: String
    /// The bytes that this run has written.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
    /// How many older runs were removed.
    public var pruned: Int
}

/// One run of a directory's backups: the store as it was at one time.
public struct BackupRun: Hashable, Sendable {
    /// The run's number in its directory.
    public var number: UInt64
    public var time: Timestamp
    /// The position of the last event in it.
    public var position: Position
    public var epoch: Epoch
    /// See `BackupReport.content`.
    public var content: String
    /// The size of all files of the run, including those that it shares with other runs.
    public var bytes: UInt64
    /// Why the file that describes the run can't be read: then only the number is known, and all else is zero or empty. Nil where it can.
    public var damage: String?
}

/// The result of verifying one run of a directory's backups.
public struct BackupVerdict: Hashable, Sendable {
    public var run: BackupRun
    /// What is wrong with the run's files; nil where every byte is unchanged.
    public var damage: String?
}

/// The result of a restore.
public struct RestoreReport: Hashable, Sendable {
    /// The last position of the restored store, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// The last position of the backup.
    public var backupPosition: Position
    /// The positions of an append that contains the requested position and ends after it. The append was left out, since an append is
    /// restored completely or not at all. Nil where the requested position ends an append.
    public var leftOut: ClosedRange<UInt64>?
    /// Like `BackupReport.content`, of the restored events.
    public var content: String
    /// The bytes that were read from the backup.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}

/// How far a backup is restored: up to a position, or up to the last commit at or before a time.
public enum RestoreTarget: Hashable, Sendable {
    case position(Position)
    case time(Timestamp)

    /// Digits are a position, other text is an RFC 3339 date-time; nil where the text is neither.
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
