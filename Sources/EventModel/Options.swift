package import Platform

/// All limits and defaults of a store. Exceeding a limit throws an error that names it. A number below the least that has a meaning counts
/// as that: a page has one event, and a limit of -1 bytes is one of 0.
public struct Options: Sendable {
    // Limits of an event.
    public var eventBytesMax = 1 << 20 { didSet { eventBytesMax.clamp(from: 0) } }
    public var jsonDepthMax = 64 { didSet { jsonDepthMax.clamp(from: 0) } }
    public var jsonMembersMax = 10_000 { didSet { jsonMembersMax.clamp(from: 0) } }
    public var typeNameBytesMax = 200 { didSet { typeNameBytesMax.clamp(from: 1) } }

    /// Called after each commit of appends by this process, on the committing thread and before the next commit, so it must return quickly.
    public var commitObserver: (@Sendable (CommitFigures) -> Void)?

    // Limits of an append and of a commit.
    public var appendEventsMax = 10_000 { didSet { appendEventsMax.clamp(from: 1) } }
    public var appendBytesMax = 64 << 20 { didSet { appendBytesMax.clamp(from: 0) } }
    /// An import fails after reading this many lines if none of them has the form of an event.
    public var importStrayLinesMax: UInt64 = 10_000
    public var commitEventsMax = 65_536 { didSet { commitEventsMax.clamp(from: 1) } }
    public var commitBytesMax = 64 << 20 { didSet { commitBytesMax.clamp(from: 0) } }
    /// The maximum number of appends in one commit; further appends wait for the next one.
    public var queueRequestsMax = 4_096 { didSet { queueRequestsMax.clamp(from: 1) } }
    /// How long an append may wait for its turn before it fails and names the process that holds the store. `close` waits for other writers
    /// for the same time.
    public var appendDeadline: Duration = .seconds(30)
    /// A single small append is committed on its caller's thread, without a thread switch, if the last commit took less time than this.
    /// Zero leaves every commit to the writing thread, so that no thread of Swift's pool waits for the disk.
    public var appendInPlaceLimit: Duration = .milliseconds(1)

    // The log's indexes.
    /// The number of events after `indexed` at which a sweep is due.
    public var sweepDueEvents = 65_536 { didSet { sweepDueEvents.clamp(from: 1) } }
    /// The number of events after `indexed` at which a sweep runs regardless of the commit's size.
    public var sweepForcedEvents = 262_144 { didSet { sweepForcedEvents.clamp(from: 1) } }
    public var sweepSliceEntries = 512 { didSet { sweepSliceEntries.clamp(from: 1) } }

    // LMDB.
    public var mapBytes = 1 << 36 { didSet { mapBytes.clamp(from: 1) } }
    public var readersMax = 512 { didSet { readersMax.clamp(from: 1) } }
    /// Appends are refused when fewer bytes than this are free on the disk.
    public var freeDiskFloorBytes = 16 << 20 { didSet { freeDiskFloorBytes.clamp(from: 0) } }
    /// Space reserved in a separate file for the recovery commands on a full disk.
    public var ballastBytes = 8 << 20 { didSet { ballastBytes.clamp(from: 0) } }

    /// The connection of a node to its cluster log; nil in a program that only reads such stores.
    package var ordering: (any OrderSource)?

    /// How long the opening of a node may spend on taking in events that other nodes have appended, before it warns and continues with the
    /// events that the node has. While events keep arriving, it continues for the same time again. A store that is opened only for reading
    /// is first opened for writing, for that long. Nil opens the store as it is. A service needs no limit: a node that is open for writing
    /// follows the cluster log by itself.
    public var catchUpLimit: Duration?

    /// The secret that opens the keys of a sealed store. A store that is created with a secret is sealed permanently.
    public var secret: StoreSecret?

    /// Allows file systems that are not known to be safe for LMDB, such as network file systems.
    public var allowsUnsafeFileSystem = false

    // Reading.
    /// How long one read transaction may last before long-running work starts another.
    public var readSlice: Duration = .milliseconds(250)
    public var readSliceBytes = 64 << 20 { didSet { readSliceBytes.clamp(from: 0) } }
    public var pageEventsMax = 1_024 { didSet { pageEventsMax.clamp(from: 1) } }
    /// The interval of the slow poll that backs up the notifications of a subscription.
    public var pollInterval: Duration = .milliseconds(500)

    // Projections and replay.
    /// How long a query waits while another caller or process builds the read model, brings it up to date or migrates, before it fails and
    /// names that process.
    public var readModelDeadline: Duration = .seconds(30)
    public var projectionKeyBytesMax = 500 { didSet { projectionKeyBytesMax.clamp(from: 1) } }
    /// How far a generation may lag behind the log at the flip; following makes up the rest.
    public var flipLagEventsMax = 1_000 { didSet { flipLagEventsMax.clamp(from: 0) } }
    /// The maximum size of a read model, in rows, whose digest a rollback recomputes. Larger ones are not read, so that the cost of a
    /// rollback depends only on the tail.
    public var rollbackVerifyRowsMax: UInt64 = 20_000
    /// How many of the newest snapshots taken by replays are kept when a replay takes another; nil keeps all.
    public var replaySnapshotsKept: Int? { didSet { replaySnapshotsKept?.clamp(from: 0) } }
    /// How many events a generation consumes in one commit; sixteen times as many while it is far behind.
    public var followBatchEvents = 4_096 { didSet { followBatchEvents.clamp(from: 1) } }
    /// Whether read models of the working version follow the log in the background while the store is open. Otherwise each query first
    /// brings its read model up to date.
    public var followsInBackground = false
    /// Whether a query returns the existing rows if nothing can be written because the disk is full or its file system was made read-only;
    /// `QueryNote.lag` and `reason` then say so. Otherwise it throws `diskFull` or `readOnly`, as do all forms that return no note.
    public var queriesMayLag = false
    /// How many bytes of rows a bulk build keeps in memory before it spills a sorted run.
    public var buildMemoryBytes = 256 << 20 { didSet { buildMemoryBytes.clamp(from: 0) } }
    /// How long an opening that must migrate waits for another process's migration before it fails and names that process.
    public var migrationDeadline: Duration = .seconds(300)
    /// The number of worker threads of a replay; nil uses one for each processor. At most 256 are used.
    public var replayJobs: Int?

    public init() {}
}

extension Int {
    fileprivate mutating func clamp(from least: Int) { self = Swift.min(Swift.max(self, least), 1 << 56) }
}

extension Options {
    /// Checks the size of an event: payload and metadata together, as given. Bytes that the log stores beside them count only toward the
    /// limits of appends and commits.
    /// - Throws: `EvstoreError.eventTooLarge`.
    package func checkEvent(payloadBytes: Int, metadataBytes: Int) throws(EvstoreError) {
        if allowsEvent(payloadBytes: payloadBytes, metadataBytes: metadataBytes) { return }
        throw .eventTooLarge(bytes: payloadBytes + metadataBytes, limit: eventBytesMax)
    }

    package func allowsEvent(payloadBytes: Int, metadataBytes: Int) -> Bool { payloadBytes + metadataBytes <= eventBytesMax }
}

extension Duration {
    /// A limit that no caller would wait for. Longer durations are clamped to it, so that every deadline is a valid instant.
    private static let longest = Duration.seconds(1 << 32)

    /// This duration, clamped to the range from zero to the longest wait.
    package var bounded: Duration { min(max(self, .zero), Self.longest) }

    /// As many seconds, which a row or an estimate may say: clamped like `bounded`, and zero where it is no number.
    package static func bounded(seconds: Double) -> Duration {
        // `max` gives its first argument where the second one is NaN.
        .seconds(min(longest / .seconds(1), max(0, seconds)))
    }

    /// An estimate by a part that was measured, clamped like `bounded`.
    package func scaled(by scale: Double) -> Duration { .bounded(seconds: inSeconds * scale) }

    /// The nearest `Double`, to the nanosecond: a division by `.seconds(1)` may give the one beside it, which rounds to another digit.
    package var inSeconds: Double {
        let (seconds, attoseconds) = bounded.components
        return Double(seconds * 1_000_000_000 + (attoseconds + 500_000_000) / 1_000_000_000) / 1e9
    }

    /// Rounded up, so that a short wait is not zero.
    package var inMilliseconds: Int { Int((bounded / .milliseconds(1)).rounded(.up)) }
}

extension Instant {
    /// The instant at which a wait of this duration ends.
    package static func within(_ duration: Duration) -> Instant { .now + duration.bounded }
}
