public import EventModel

/// A named restore point.
public struct SnapshotReport: Hashable, Sendable {
    public var name: String
    public var position: Position
    public var epoch: Epoch
    public var floor: SchemaVersion
    public var live: SchemaVersion
    public var top: SchemaVersion
    public var head: SchemaVersion
    public var time: Timestamp
    /// The hash chain's link at the position, hexadecimal.
    public var link: String
    /// The read models of the live version at that time.
    public var generations: [SnapshotGeneration]
}

/// One read model as a snapshot notes it.
public struct SnapshotGeneration: Hashable, Sendable {
    public var projection: String
    /// Hexadecimal.
    public var fingerprint: String
    /// The name of its directory.
    public var directory: String
    /// Hexadecimal digest of its rows at exactly the snapshot's position; nil where it was not there at that moment.
    public var digest: String?
    public var rows: UInt64
}

/// One line of the journal.
public struct JournalRow: Hashable, Sendable {
    public var number: UInt64
    public var time: Timestamp
    /// register, snapshot, replay, flip, rollback, cut, finalize, retry, drill, restore or salvage.
    public var what: String
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    public var position: Position?
    public var seconds: Double?
    public var outcome: String
    /// The user and the process.
    public var by: String
    /// Hexadecimal digest of what came out, where there is one.
    public var digest: String?
}

/// One event that a read model could not take in.
public struct QuarantineReport: Hashable, Sendable {
    public var projection: String
    public var position: Position
    /// The type it was stored as.
    public var type: String
    public var error: String
}

/// What a retry of the quarantine did.
public struct QuarantineRetryReport: Hashable, Sendable {
    /// Read models built anew under the same version, by name.
    public var rebuilt: [String]
    public var before: UInt64
    public var after: UInt64
}

/// What a verification found.
public struct VerifyReport: Hashable, Sendable {
    /// No finding is an error.
    public var ok: Bool
    public var findings: [Finding]
    /// How many events each law was shown on.
    public var laws: [LawCount]
    public var events: UInt64
    /// Ops that no event went through, where the laws were asked for.
    public var notExercised: [String] = []
    /// What made the events that were not in the log; nil where the laws were not asked for.
    public var seed: UInt64?
    /// Events that were made up and that a step which may refuse some did refuse.
    public var refused: UInt64 = 0
}

/// How often a law was tried and how often it did not hold.
public struct LawCount: Hashable, Sendable {
    /// T-up, T-down, or L1 to L5.
    public var law: String
    public var tried: UInt64
    public var failed: UInt64
}
