/// Every limit and default of a store. Reaching a limit is a named error.
public struct Options: Sendable {
    // What an event may be.
    public var eventBytesMax = 1 << 20
    public var jsonDepthMax = 64
    public var jsonMembersMax = 10_000
    public var typeNameBytesMax = 200

    /// Called after each commit of appends by this process, on the thread that made it, before the next: it must be quick.
    public var commitObserver: (@Sendable (CommitFigures) -> Void)?

    // What an append and a commit may be.
    public var appendEventsMax = 10_000
    public var appendBytesMax = 64 << 20
    /// An import that has read as many lines, none of which is of the form of an event, ends with an error.
    public var importStrayLinesMax: UInt64 = 10_000
    public var commitEventsMax = 65_536
    public var commitBytesMax = 64 << 20
    /// Appends that one commit takes together at most; the others wait for the next one.
    public var queueRequestsMax = 4_096
    /// How long an append may wait for its turn before it fails and names the process that holds the store; `close` waits as long for
    /// other writers.
    public var appendDeadline: Duration = .seconds(30)
    /// A small append that is alone is committed on its caller's thread, without a change of threads, where the last commit took less
    /// than this. Zero leaves every commit to the writing thread, so that no thread of Swift's pool waits for the disk.
    public var appendInPlaceLimit: Duration = .milliseconds(1)

    // The log's indexes.
    /// Events after `indexed` at which a sweep is due.
    public var sweepDueEvents = 65_536
    /// Events after `indexed` at which a sweep is made whatever the commit's size.
    public var sweepForcedEvents = 262_144
    public var sweepSliceEntries = 512

    // LMDB.
    public var mapBytes = 1 << 36
    public var readersMax = 512
    /// Appends are refused when fewer bytes than this are free on the disk.
    public var freeDiskFloorBytes = 16 << 20
    /// Room kept in a file of its own for the recovery commands on a full disk.
    public var ballastBytes = 8 << 20

    /// The way to the cluster log of a store that is a node of one; nil for a program that only reads such stores.
    package var ordering: (any OrderSource)?

    /// How long the opening of a node of a cluster log may take to take in what other nodes have appended, before it goes on with what the
    /// node has, and warns; it goes on for as long again while events come. Where it is opened for reading only, it is opened for writing
    /// first, for that long. Nil opens it as it is. A service needs none: a node that is open for writing follows by itself.
    public var catchUpLimit: Duration?

    /// The secret that opens the keys of a sealed store; a store that is made with one is sealed for good.
    public var secret: StoreSecret?

    /// Opens a store also on a file system that is not known to be sound for LMDB, such as one of a network.
    public var allowsUnsafeFileSystem = false

    // Reading.
    /// How long one read transaction may last before long work takes another.
    public var readSlice: Duration = .milliseconds(250)
    public var readSliceBytes = 64 << 20
    public var pageEventsMax = 1_024
    /// The slow poll behind the wake-ups of a subscription.
    public var pollInterval: Duration = .milliseconds(500)

    // Projections and replay.
    /// How long a query waits for another caller or process that builds the read model, brings it to the log's end or migrates, before it
    /// fails and names that process.
    public var readModelDeadline: Duration = .seconds(30)
    public var projectionKeyBytesMax = 500
    /// How far a generation may lag behind the log at the flip; following does the rest.
    public var flipLagEventsMax = 1_000
    /// Rows of a read model up to which a rollback recomputes its digest; larger ones are not read through, so that
    /// going back costs the tail alone.
    public var rollbackVerifyRowsMax: UInt64 = 20_000
    /// How many of the newest snapshots that replays took are kept when a replay takes one; all of them where nil.
    public var replaySnapshotsKept: Int?
    /// Events that a generation consumes in one commit; sixteen times as many while it is far behind.
    public var followBatchEvents = 4_096
    /// Whether read models of the working version are kept at the log's end while the store is open; else each
    /// query brings its own there.
    public var followsInBackground = false
    /// Whether a query gives the rows that there are where nothing can be written, since the disk is full or its file system was made
    /// read-only: `QueryNote.lag` and `reason` tell. Else it throws `diskFull` or `readOnly`; so do in any case the forms that return no note.
    public var queriesMayLag = false
    /// Rows that a bulk build keeps in memory before it spills a sorted run.
    public var buildMemoryBytes = 256 << 20
    /// How long an opening that is to migrate waits for another process's migration before it fails and names that process.
    public var migrationDeadline: Duration = .seconds(300)
    /// Worker threads of a replay; as many as there are processors where nil.
    public var replayJobs: Int?

    public init() {}
}

extension Options {
    /// Whether an event is small enough: its payload and its metadata together, as they are given. What the log keeps beside them
    /// counts only for appends and commits.
    /// - Throws: `EvstoreError.eventTooLarge`.
    package func checkEvent(payloadBytes: Int, metadataBytes: Int) throws(EvstoreError) {
        let bytes = payloadBytes + metadataBytes
        if bytes > eventBytesMax { throw .eventTooLarge(bytes: bytes, limit: eventBytesMax) }
    }
}

extension Duration {
    /// Longer than anybody waits; what is asked for beyond it counts as this, so that no moment is too late to be named.
    private static let longest = Duration.seconds(1 << 32)

    /// This duration, but at least zero and no longer than anybody waits.
    package var bounded: Duration { min(max(self, .zero), Self.longest) }

    package var inSeconds: Double { bounded / .seconds(1) }

    /// Rounded up, so that a short wait is one.
    package var inMilliseconds: Int { Int((bounded / .milliseconds(1)).rounded(.up)) }
}

extension ContinuousClock.Instant {
    /// The moment from now on until which a wait may last.
    package static func within(_ duration: Duration) -> ContinuousClock.Instant { .now + duration.bounded }
}
