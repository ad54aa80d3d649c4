public import EventModel

/// What a backup holds.
public struct BackupReport: Hashable, Sendable {
    /// The last event in it.
    public var position: Position
    public var epoch: Epoch
    /// SHA-256 over the events themselves, in hexadecimal: the same for equal content in whatever store.
    public var content: String
    /// Written by this run.
    public var bytes: UInt64
    public var seconds: Double
    /// Older runs that were forgotten.
    public var pruned: Int
}

/// One run of a directory's backups: what the store was at one time.
public struct BackupRun: Hashable, Sendable {
    /// What it is named by in that directory.
    public var number: UInt64
    public var time: Timestamp
    /// The last event in it.
    public var position: Position
    public var epoch: Epoch
    /// As in `BackupReport`.
    public var content: String
    /// Of all files that it is made of, also those that it shares with other runs.
    public var bytes: UInt64
}

/// What reading a run's files again came to.
public struct BackupVerdict: Hashable, Sendable {
    public var run: BackupRun
    /// What is wrong with them; nil where every byte is what was written.
    public var damage: String?
}

/// What was restored.
public struct RestoreReport: Hashable, Sendable {
    /// The last event of the restored store, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// The last event of the backup.
    public var backupPosition: Position
    /// The append that the position asked for lies in and that goes on behind it, first to last position: it was left out, since an
    /// append is whole or not there. Nil where nothing was parted.
    public var leftOut: ClosedRange<UInt64>?
    public var content: String
    /// Read from the backup.
    public var bytes: UInt64
    public var seconds: Double
}

/// How far a backup is restored: to a position, or to what was committed by a time.
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
