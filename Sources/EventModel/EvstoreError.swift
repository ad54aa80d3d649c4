/// All errors, grouped by the activity in which they occur. A case carries what the caller needs to act on it; `code`, `message`, `place`
/// and `fix` describe it to a person or a script.
@nonexhaustive
public enum EvstoreError: Error, Hashable, Sendable {
    // Opening.
    case storeNotFound(path: String)
    case storeExists(path: String)
    case notAStore(path: String, reason: String)
    case storeNewer(path: String, format: Int, known: Int)
    /// The LMDB library or the file is of another release than the one whose files this program knows. Nothing is damaged.
    case otherLMDB(path: String, reason: String)
    case storeDamaged(path: String, reason: String)
    case unsafePermissions(path: String, reason: String)
    case unsafeFileSystem(path: String, kind: String)
    case readOnly(path: String)
    /// The store is a replica of backups, which accepts no writes except those that follow the backups.
    /// - Parameter source: the directory of the backups; empty if they arrive through a pipe.
    case replica(path: String, source: String)
    case locked(path: String, holder: String)
    /// A sealed store was opened without a key or with a wrong one, or a key was given for a store that is not sealed.
    case keysRefused(path: String, reason: String)
    /// Other files lie at the path than those that the program has open, or none. Nothing is damaged.
    case replaced(path: String)
    /// - Parameters:
    ///   - path: the store, or else the file or directory that there was no room for.
    ///   - neededBytes: how many bytes must be free; nil if only the system knows.
    ///   - freeInodes: 0 where the file system has bytes left, but can't hold a further file; else nil.
    ///   - isOverQuota: whether not the disk is full, but the quota of the user, the group or the project is used up.
    case diskFull(path: String, freeBytes: UInt64, neededBytes: UInt64? = nil, freeInodes: UInt64? = nil, isOverQuota: Bool = false)
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
    /// An event matches an item of a condition, counted from 0: at a position of the store, or of an append that comes first.
    case conditionFailed(AppendCondition, item: Int, position: Position)
    /// The version's file was replaced since the condition was made.
    case conditionOutdated(SchemaVersion)
    /// The id is that of another event: at a position of the store, or else earlier in the same input, or else of the same append.
    case idReused(id: EventID, position: Position?, line: UInt64? = nil)
    case eventTooLarge(bytes: Int, limit: Int)
    case appendTooLarge(reason: String)
    case versionNotAllowed(SchemaVersion, floor: SchemaVersion, top: SchemaVersion)
    case noImage(ImageFailure)
    case deadlinePassed(waited: Duration, holder: String)
    case commitOutcomeUnknown(after: Position)
    /// Valid JSON that does not describe an event to append.
    case invalidLine(reason: String, pointer: String)
    /// A line of the input was refused; lines are counted from 1.
    indirect case refusedLine(UInt64, file: String?, EvstoreError)
    /// An element of a document was refused; elements are counted from 1. It begins in a line of the file.
    indirect case refusedElement(UInt64, line: UInt64, file: String?, EvstoreError)

    // Reading.
    case epochChanged(seen: Checkpoint, cut: Checkpoint)
    case unknownVersion(String, known: [String])
    case unknownProjection(String, known: [String])
    case corruptBlock(position: Position, reason: String)

    // Evolving.
    case schemaInvalid([Finding])
    case schemaNewer(version: SchemaVersion, reason: String)
    case versionDiffers(SchemaVersion, file: String, stored: String)
    /// - Parameter instead: what this program can do without the code; nil if there is nothing.
    case programNeeded(what: String, instead: Advice? = nil)

    // Keeping.
    case backupDamaged(path: String, reason: String)
    case notInBackup(wanted: String, has: String)
    /// The directory holds the backups of another store.
    case otherBackup(path: String)
    /// No block of a log was found in the files.
    case nothingToSalvage(path: String)
    /// The text is not a signed head, or no trusted key has signed the head.
    case signatureInvalid(reason: String)
    /// The file does not contain a key, or others can read or change it.
    case keyUnusable(path: String, reason: String)
    /// The key can't be retired: `what` names what needs it, `how` what to do first.
    case keyNeeded(what: String, how: Advice)

    // In a cluster.
    /// The cluster log can't be reached, or it refused. Nothing was written.
    case logUnavailable(log: String, reason: String)
    /// The node holds more events than the cluster log, or other ones: the log was set back, as by a failover to a standby that lagged.
    case clusterWentBack(log: String, cluster: Position, node: Position)
    /// A frame is missing in the cluster log, or was changed after it was written.
    case clusterDamaged(log: String, frame: UInt64, reason: String)
    /// The store and the cluster log do not belong together, or the store is no longer a node.
    case clusterMismatch(log: String, reason: String, how: Advice)

    // Migrating.
    case policyRefused(program: SchemaVersion, live: SchemaVersion, how: Advice)
    case migrationInProgress(holder: String)
    /// - Parameter inFold: true if the event has an image that the projection could not fold; false if it has no image.
    case buildStopped(projection: String, position: Position, reason: String, inFold: Bool = false)
    /// A row of a read model does not fit the shape that its definition declares.
    /// - Parameter type: the Swift type that can't read the row; nil where the row violates its shape.
    case invalidRow(projection: String, key: String, reason: String, type: String? = nil)
    case nothingToRollBackTo(live: SchemaVersion)
    case belowFloor(SchemaVersion, floor: SchemaVersion)
    case notLive(SchemaVersion, live: SchemaVersion)
    case consentNeeded(what: String, how: Advice)
    case unknownSnapshot(String, known: [String])
    case snapshotExists(String)
    case unknownConsumer(String, known: [String])
    /// A consumer could not handle an event and does not move past it.
    case consumerStopped(consumer: String, position: Position, reason: String)
    case verificationFailed(reason: String)
    /// - Parameter again: how to continue.
    case interrupted(again: String)

    // Usage.
    case usage(String, fix: Advice? = nil)
}

/// Why an event has no image at a version.
public struct ImageFailure: Hashable, Sendable {
    /// The `pointer` of a failure that concerns the name of the event's stream.
    package static let streamName = "$stream"

    /// Nil while the event is not in the log yet.
    public var position: Position?
    public var type: String
    public var born: SchemaVersion
    public var target: SchemaVersion
    /// The version whose step failed.
    public var step: SchemaVersion
    /// The op's name and its number in the step, such as `convert (op 2)`; `shape` if the result did not fit the shape.
    public var op: String
    public var pointer: String
    public var expected: String
    public var found: String
    /// Whether a codec could not read the value, regardless of the op that uses it.
    package var isByCodec = false
    /// Whether the step declares that it refuses such events (`block`).
    package var isDeclared = false

    public init(
        position: Position? = nil, type: String, born: SchemaVersion, target: SchemaVersion, step: SchemaVersion,
        op: String, pointer: String, expected: String, found: String
    ) {
        (self.position, self.type, self.born, self.target) = (position, type, born, target)
        (self.step, self.op, self.pointer) = (step, op, pointer)
        (self.expected, self.found) = (expected, found)
    }
}
