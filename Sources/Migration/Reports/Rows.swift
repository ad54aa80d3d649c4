public import EventModel

/// A named restore point.
public struct SnapshotReport: Hashable, Sendable {
    public var name: String
    public var position: Position
    public var epoch: Epoch
    /// The store's version numbers at that time (`StoreVersions`): the oldest version that was promised.
    public var floor: SchemaVersion
    /// The version whose read models were the default.
    public var live: SchemaVersion
    /// The highest version that had been live since the floor moved.
    public var top: SchemaVersion
    /// The newest version that the store knew.
    public var head: SchemaVersion
    public var time: Timestamp
    /// The hash chain's link at the position, in hexadecimal digits.
    public var link: String
    /// The read models of the live version at that time.
    public var generations: [SnapshotGeneration]
}

/// One read model as a snapshot records it.
public struct SnapshotGeneration: Hashable, Sendable {
    public var projection: String
    /// The fingerprint in hexadecimal digits.
    public var fingerprint: String
    /// The name of its directory.
    public var directory: String
    /// The digest of its rows at exactly the snapshot's position, in hexadecimal digits; nil where it was not at that position.
    public var digest: String?
    public var rows: UInt64
}

/// The kind of a journal row. A newer program may write other kinds.
public struct JournalKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The value of `what` in the journal.
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
    /// Read models that lacked events were rebuilt.
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
    /// How long it took; nil for what is not measured.
    public var duration: Duration?
    /// The bytes on the disk of the read models that went live.
    public var readModelBytes: UInt64?
    public var outcome: String
    /// The user and the process.
    public var by: String
    /// A digest of the result in hexadecimal digits; nil where there is none.
    public var digest: String?
}

/// One event that a read model could not take in.
public struct QuarantineReport: Hashable, Sendable {
    public var projection: String
    public var position: Position
    /// The type that it was stored as.
    public var type: String
    public var error: String
}

/// What a retry of the quarantine did.
public struct QuarantineRetryReport: Hashable, Sendable {
    /// Read models that were rebuilt under the same version, by name.
    public var rebuilt: [String]
    /// Rows of the quarantine before, as `EventStore.quarantine` lists them: an event has one for each read model that lacks it.
    public var before: UInt64
    /// The rows that are left.
    public var after: UInt64
}

/// How often a law was tried, and how often it did not hold.
public struct LawCount: Hashable, Sendable {
    /// T-up, T-down, or L1 to L8.
    public var law: String
    /// The number of events, each counted once for each version that it was seen at; for L6 and L7, of read models.
    public var tried: UInt64
    public var failed: UInt64
    /// For L1 and L2: events that did not come back unchanged because a step declares it, or because a value was not in its codec's own
    /// form. They count as no failure.
    public var lossy: UInt64
}

/// The events that the laws were tried on, each counted once for each version that it was seen at.
public struct LawCases: Hashable, Sendable {
    public var log: UInt64
    /// Events that adoption made of the log's data from before versions existed.
    public var adopted: UInt64
    /// Events made from the shapes.
    public var generated: UInt64
    /// Events made from events of the log.
    public var mutated: UInt64
    /// Events outside the log that a step refused which may refuse some.
    public var refused: UInt64
    /// Events at the beginning of the log from which read models were built for comparison.
    public var replayed: UInt64

    package init(
        log: UInt64 = 0, adopted: UInt64 = 0, generated: UInt64 = 0, mutated: UInt64 = 0, refused: UInt64 = 0, replayed: UInt64 = 0
    ) {
        (self.log, self.adopted, self.generated, self.mutated) = (log, adopted, generated, mutated)
        (self.refused, self.replayed) = (refused, replayed)
    }
}

/// The number of events that went through an op of a step, in each direction.
public struct OpCount: Hashable, Sendable {
    public var version: SchemaVersion
    public var op: String
    public var up: UInt64
    public var down: UInt64
}
