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

/// What was restored.
public struct RestoreReport: Hashable, Sendable {
    /// The last event of the restored store, in an epoch of its own.
    public var position: Position
    public var epoch: Epoch
    /// The last event of the backup.
    public var backupPosition: Position
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
