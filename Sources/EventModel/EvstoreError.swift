/// Everything that can go wrong, grouped by the moment. A case carries what the caller needs to act;
/// `code`, `message`, `place` and `fix` say it to a person or a script.
@nonexhaustive
public enum EvstoreError: Error, Hashable, Sendable {
    // Opening.
    case storeNotFound(path: String)
    case storeExists(path: String)
    case notAStore(path: String, reason: String)
    case storeNewer(path: String, format: Int, known: Int)
    /// The library of LMDB, or the file, is of another release than the one whose files this program knows; nothing is damaged.
    case otherLMDB(path: String, reason: String)
    case storeDamaged(path: String, reason: String)
    case unsafePermissions(path: String, reason: String)
    case unsafeFileSystem(path: String, kind: String)
    case readOnly(path: String)
    /// A replica of backups, to which nothing is written but what it follows.
    /// - Parameter source: the directory of the backups; empty where they come through a pipe.
    case replica(path: String, source: String)
    case locked(path: String, holder: String)
    /// A sealed store was opened without a key or with one that does not open it; or a store that is not sealed was opened with one.
    case keysRefused(path: String, reason: String)
    /// - Parameter neededBytes: how many have to be free; nil where only the system knows.
    case diskFull(path: String, freeBytes: UInt64, neededBytes: UInt64? = nil)
    case ioFailure(doing: String, reason: String)
    case misuse(String)

    // Appending.
    case invalidStreamName(String)
    case invalidEventID(String)
    case invalidJSON(reason: String, offset: Int)
    case invalidEvent(type: String, version: SchemaVersion, pointer: String, reason: String)
    case unknownType(String, version: SchemaVersion, known: [String])
    case streamMismatch(given: String, expected: String, type: String, version: SchemaVersion)
    case expectationFailed(stream: StreamName, expected: Expectation, actual: Revision?)
    case idReused(id: EventID, position: Position)
    case eventTooLarge(bytes: Int, limit: Int)
    case appendTooLarge(reason: String)
    case versionNotAllowed(SchemaVersion, floor: SchemaVersion, top: SchemaVersion)
    case noImage(ImageFailure)
    case deadlinePassed(seconds: Double, holder: String)
    case commitOutcomeUnknown(after: Position)
    /// Valid JSON, but not a line that says what event to append.
    case invalidLine(reason: String, pointer: String)
    /// A line of an input, counted from 1, that was refused.
    indirect case refusedLine(UInt64, file: String?, EvstoreError)

    // Reading.
    case epochChanged(seen: Checkpoint, cut: Checkpoint)
    case unknownVersion(String, known: [String])
    case unknownProjection(String, known: [String])
    case corruptBlock(position: Position, reason: String)

    // Evolving.
    case schemaInvalid([Finding])
    case schemaNewer(version: SchemaVersion, reason: String)
    case versionDiffers(SchemaVersion, file: String, stored: String)
    /// - Parameter instead: what this program can do without the code; nil where there is nothing.
    case programNeeded(what: String, instead: Advice? = nil)

    // Keeping.
    case backupDamaged(path: String, reason: String)
    case notInBackup(wanted: String, has: String)
    /// A directory that holds the backups of another store.
    case otherBackup(path: String)
    /// Files in which no block of a log was found.
    case nothingToSalvage(path: String)
    /// A text that is no signed head, or a head that no trusted key has signed.
    case signatureInvalid(reason: String)
    /// A file that does not hold a key, or that others can read or change.
    case keyUnusable(path: String, reason: String)
    /// A key that can't be retired: what needs it, and what to do first.
    case keyNeeded(what: String, how: Advice)

    // In a cluster.
    /// The cluster log can't be asked, or refused; nothing was written.
    case logUnavailable(log: String, reason: String)
    /// A node holds more than the cluster log has, or something else: the log was set back, as by a failover to a standby that was behind.
    case clusterWentBack(log: String, cluster: Position, node: Position)
    /// A frame that is missing in the cluster log, or is not as it was written.
    case clusterDamaged(log: String, frame: UInt64, reason: String)
    /// A store and a cluster log that do not belong together, or a node that is one no more.
    case clusterMismatch(log: String, reason: String, how: Advice)

    // Migrating.
    case policyRefused(program: SchemaVersion, live: SchemaVersion, how: Advice)
    case migrationInProgress(holder: String)
    /// - Parameter inFold: whether the projection could not fold the event, which has an image; else it has none.
    case buildStopped(projection: String, position: Position, reason: String, inFold: Bool = false)
    /// A row of a read model that does not keep the shape that its definition gives it.
    case invalidRow(projection: String, key: String, reason: String)
    case nothingToRollBackTo(live: SchemaVersion)
    case belowFloor(SchemaVersion, floor: SchemaVersion)
    case notLive(SchemaVersion, live: SchemaVersion)
    case consentNeeded(what: String, how: Advice)
    case unknownSnapshot(String, known: [String])
    case snapshotExists(String)
    case unknownConsumer(String, known: [String])
    /// An event that a consumer could not handle, and that it does not go past.
    case consumerStopped(consumer: String, position: Position, reason: String)
    case verificationFailed(reason: String)
    /// - Parameter again: what to do once more.
    case interrupted(again: String)

    // Asking.
    case usage(String, fix: Advice? = nil)
}

/// Why an event has no image at a version.
public struct ImageFailure: Hashable, Sendable {
    /// The `pointer` of a failure that is about the name of the event's stream.
    package static let streamName = "$stream"

    /// Unset while the event is not in the log yet.
    public var position: Position?
    public var type: String
    public var born: SchemaVersion
    public var target: SchemaVersion
    /// The version whose step failed.
    public var step: SchemaVersion
    /// The op's name, with its place in the step, such as `convert (op 2)`; `shape` where the result did
    /// not fit the shape.
    public var op: String
    public var pointer: String
    public var expected: String
    public var found: String
    /// Whether a codec can't read the value, whichever op uses it.
    package var isByCodec = false

    public init(
        position: Position? = nil, type: String, born: SchemaVersion, target: SchemaVersion, step: SchemaVersion,
        op: String, pointer: String, expected: String, found: String
    ) {
        (self.position, self.type, self.born, self.target) = (position, type, born, target)
        (self.step, self.op, self.pointer) = (step, op, pointer)
        (self.expected, self.found) = (expected, found)
    }
}
