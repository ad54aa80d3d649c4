public import EventModel

/// A named restore point.
public struct SnapshotReport: Hashable, Sendable {
    public var name: String
    public var position: Position
    public var epoch: Epoch
    /// The four numbers of the store then (`StoreVersions`): the oldest version that was promised.
    public var floor: SchemaVersion
    /// The version whose read models were the default.
    public var live: SchemaVersion
    /// The highest version that had been live since the floor moved.
    public var top: SchemaVersion
    /// The newest version that the store knew.
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

/// What a line of the journal tells of. A newer program may write others than these.
public struct JournalKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// As the journal's `what` says it.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
    private init(_ rawValue: String) { self.rawValue = rawValue }

    /// Versions or definitions were registered.
    public static let register = Self("register")
    /// A snapshot was taken, or some were removed.
    public static let snapshot = Self("snapshot")
    public static let replay = Self("replay")
    /// A version went live by a replay.
    public static let flip = Self("flip")
    public static let rollback = Self("rollback")
    /// Events were taken off the log, into the archive.
    public static let cut = Self("cut")
    public static let finalize = Self("finalize")
    /// Read models that lacked events were built anew.
    public static let retry = Self("retry")
    /// Read models that were missing were built.
    public static let complete = Self("complete")
    public static let drill = Self("drill")
    public static let restore = Self("restore")
    public static let salvage = Self("salvage")
    public static let promote = Self("promote")
    public static let key = Self("key")
    public static let recipher = Self("recipher")
    public static let forget = Self("forget")
    public static let consumer = Self("consumer")
}

/// One line of the journal.
public struct JournalRow: Hashable, Sendable {
    public var number: UInt64
    public var time: Timestamp
    public var kind: JournalKind
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    public var position: Position?
    public var seconds: Double?
    /// What the read models that went live take of the disk.
    public var readModelBytes: UInt64?
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
    /// Rows of the quarantine before, as `EventStore.quarantine` lists them: an event has one for each read model that lacks it.
    public var before: UInt64
    /// Those that are left.
    public var after: UInt64
}

/// How often a law was tried and how often it did not hold.
public struct LawCount: Hashable, Sendable {
    /// T-up, T-down, or L1 to L8.
    public var law: String
    /// Events, each once for each version that it was seen at; of L6 and L7 read models.
    public var tried: UInt64
    public var failed: UInt64
    /// Of L1 and L2: those that did not come back as they were, as a step declares or a value in another form than its
    /// codec's leads to; no failure.
    public var lossy: UInt64
}

/// What the laws were tried on: events, each once for each version that it was seen at.
public struct LawCases: Hashable, Sendable {
    public var log: UInt64
    /// What adoption makes of data of the log from before versions existed.
    public var adopted: UInt64
    /// Made from the shapes.
    public var generated: UInt64
    /// Made from events of the log.
    public var mutated: UInt64
    /// Of those that are not in the log: refused by a step that may refuse some.
    public var refused: UInt64
    /// Events of the log from whose beginning read models were built to compare.
    public var replayed: UInt64

    package init(
        log: UInt64 = 0, adopted: UInt64 = 0, generated: UInt64 = 0, mutated: UInt64 = 0, refused: UInt64 = 0, replayed: UInt64 = 0
    ) {
        (self.log, self.adopted, self.generated, self.mutated) = (log, adopted, generated, mutated)
        (self.refused, self.replayed) = (refused, replayed)
    }
}

/// How many events went through an op of a step, in each direction.
public struct OpCount: Hashable, Sendable {
    public var version: SchemaVersion
    public var op: String
    public var up: UInt64
    public var down: UInt64
}
