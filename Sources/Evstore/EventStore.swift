package import EventLog
public import EventModel
internal import Logging
internal import Migration
internal import Platform
internal import Projections
package import SchemaEvolution

/// A store of events and the read models built from them, opened by this process.
///
/// The handles of a process on one store share its open files and its writing thread. Every method may be called from any task.
///
/// A method that is not `async` works on the calling thread and returns when it is done. An `async` one suspends its task while it waits
/// for the disk, for another process, or for work that is done on the store's own threads (<doc:Blocking>).
///
/// Besides the errors that a method names, each may throw `storeDamaged`, `corruptBlock` and `ioFailure`; `schemaNewer` where another
/// program has registered a version that this one can't read; `unknownVersion` where it is given a version that neither the store nor the
/// schemas given at opening have; `misuse` after `close` and in a forked child; and `deadlinePassed`, naming the process, where another one
/// was stopped while it held LMDB's table of readers. A method that writes throws `readOnly` on a read-only handle, `replica` on a replica
/// (`follow(from:into:)`), `diskFull`, and `deadlinePassed` where another process writes for longer than `Options.appendDeadline`. On a
/// node of a cluster log it may throw `logUnavailable`, `clusterWentBack`, `clusterDamaged`, `clusterMismatch` and `commitOutcomeUnknown`.
public final class EventStore: Sendable {
    /// The version the program works at; nil follows the live one.
    let programVersion: SchemaVersion?
    let policy: Policy
    /// The program's own version files and projections, where it brought some.
    let schemas: Schemas?
    let evolving: VersionedLog
    let logger: Logger
    let validators = AppendValidatorPool()
    let viewers = EventViewerPool()
    let generations = OpenGenerations()
    let drills = DrillCache()
    let quarantineCount = QuarantineCount()
    /// Shared by all queries and follows of this handle.
    let follower: Follower
    let background = BackgroundFollower()
    let work = WorkUnderWay()

    init(_ evolving: VersionedLog, version: SchemaVersion?, policy: Policy, schemas: Schemas?) {
        (self.evolving, programVersion, self.policy, self.schemas) = (evolving, version, policy, schemas)
        (logger, follower) = (evolving.logger, Follower(evolving))
    }

    /// The store's directory.
    public var path: String { log.path }
    public var options: Options { log.options }
    public var isReadOnly: Bool { log.isReadOnly }

    package var log: EventLog { evolving.log }

    /// The store's four version numbers as they are now.
    ///
    /// Blocks the calling thread for one short read transaction.
    public var versions: StoreVersions { get throws(EvstoreError) { StoreVersions(try evolving.current().state) } }

    /// The newest version that a replay can go to: a registered one, or one of the schemas given at opening.
    package func newest(_ versions: StoreVersions) -> SchemaVersion { max(versions.head, schemas?.history.head ?? versions.head) }

    /// The version at which this handle reads and writes where a call names none: the one given at opening, else the live one.
    ///
    /// Blocks the calling thread for one short read transaction where none was given.
    public var workingVersion: SchemaVersion {
        get throws(EvstoreError) { if let programVersion { programVersion } else { try evolving.current().state.live } }
    }

    func effective(_ version: SchemaVersion?) throws(EvstoreError) -> SchemaVersion {
        if let version { version } else { try workingVersion }
    }

    func effective(_ version: SchemaVersion?, _ evolution: SchemaSnapshot) -> SchemaVersion {
        version ?? programVersion ?? evolution.state.live
    }

    /// Returns the version that `v5`, `5` or a label names, among the registered ones and those of the schemas given at opening.
    /// - Throws: `EvstoreError.unknownVersion` where none has that name.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func version(named text: String) throws(EvstoreError) -> SchemaVersion {
        let history = try evolving.current().history
        if let own = schemas?.history, own.head > history.head { return try own.resolve(text) }
        return try history.resolve(text)
    }

    /// Returns the checkpoint of the last event; `Checkpoint.start` where the log is empty.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func last() throws(EvstoreError) -> Checkpoint {
        try log.reading { reader in reader.last }
    }

    /// Waits until the appends in progress are durable, then closes the handle, which can't be used afterwards. Does nothing in a forked
    /// child.
    ///
    /// Replays, imports, exports, backups and other long calls that are under way, and queries that fold events, end with `interrupted`
    /// where they can stop; this call waits for them. All other calls end with `misuse` when they next read or write. When this call has
    /// returned, nothing that this handle was asked for touches the store's files any more: where no other handle or process has the store
    /// open, the directory can be copied, moved or deleted. To lose no work, cancel the tasks that consume, observe or subscribe first, and
    /// wait for them.
    ///
    /// Waits for the writing thread.
    /// - Throws: `EvstoreError.deadlinePassed`, naming the process, where another process was writing for `Options.appendDeadline` (one
    ///   that was stopped in the middle of it). Every append that has returned is durable, and the next process that opens the store
    ///   finishes what closing would have done.
    public func close() async throws(EvstoreError) {
        guard log.isOfThisProcess else { return }
        await background.stop()
        // Order: the log is closed last, so that what is under way can end in a valid state.
        await work.stop()
        try await StoreThreads.run { () async throws(EvstoreError) in
            self.generations.close()
            try await awaiting(at: self.path) { try await self.log.close() }
        }
    }

    /// All versions registered in the store.
    package var history: History { get throws(EvstoreError) { try evolving.current().history } }

    /// The history for a version: the registered one, or the program's own where the store does not know the version yet.
    func history(serving version: SchemaVersion, _ registered: History) throws(EvstoreError) -> History {
        if version <= registered.head { return registered }
        if let own = schemas?.history, version <= own.head { return own }
        throw .unknownVersion(version.description, known: registered.versions.map(\.number.description))
    }
}

/// The four version numbers of a store, `floor <= live <= top <= head`, and the epoch of the log that they describe.
public struct StoreVersions: Sendable, Hashable {
    /// The oldest version still promised.
    public var floor: SchemaVersion
    /// The version whose read models are the default.
    public var live: SchemaVersion
    /// The highest version that has been live since the floor moved.
    public var top: SchemaVersion
    /// The newest version the store knows.
    public var head: SchemaVersion
    public var epoch: Epoch

    public init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion, epoch: Epoch) {
        (self.floor, self.live, self.top, self.head, self.epoch) = (floor, live, top, head, epoch)
    }

    init(_ state: StoreState) {
        self.init(floor: state.floor, live: state.live, top: state.top, head: state.head, epoch: state.epoch)
    }
}

/// Runs long work on the store's own threads and waits for it: it may block on the disk or on other processes.
///
/// The job that is made here is cancelled with the caller's task; every lower room asks the job.
package func working<R>(
    _ name: String, _ progress: ProgressHandler? = nil, _ body: (Job) async throws(EvstoreError) -> R
) async throws(EvstoreError) -> R {
    let job = Job(name, progress)
    do {
        return try await withTaskCancellationHandler {
            try await StoreThreads.run { try await body(job) }
        } onCancel: {
            job.cancel()
        }
    } catch { throw EvstoreError(converting: error) }
}

/// The work of a handle that may touch the store's files when it does not use the log.
final class WorkUnderWay: Sendable {
    private struct State {
        var jobs: [UInt64: Job] = [:]
        var begun: UInt64 = 0
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Monitor(State())

    /// - Returns: a number, for `end`.
    /// - Throws: `EvstoreError.misuse` once the handle is closed.
    func begin(_ job: Job) throws(EvstoreError) -> UInt64 {
        try state.withLock { (state) throws(EvstoreError) in
            if state.isClosed { throw .misuse("the store has been closed") }
            state.begun += 1
            state.jobs[state.begun] = job
            return state.begun
        }
    }

    func end(_ number: UInt64) {
        let waiting = state.withLock { state in
            state.jobs[number] = nil
            defer { if state.jobs.isEmpty { state.waiting = [] } }
            return state.jobs.isEmpty ? state.waiting : []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Lets no more work begin, asks what is under way to stop, and waits until it has.
    func stop() async {
        let jobs = state.withLock { state in
            state.isClosed = true
            return Array(state.jobs.values)
        }
        for job in jobs { job.cancel() }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.jobs.isEmpty { state.waiting.append(continuation) }
                return state.jobs.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }
}

extension EventStore {
    /// Runs long work on this store; `close` waits for it.
    func working<R>(
        _ name: String, _ progress: ProgressHandler? = nil, _ body: (MigrationContext) async throws(EvstoreError) -> R
    ) async throws(EvstoreError) -> R {
        try await Evstore.working(name, progress) { (job) async throws(EvstoreError) in
            let number = try work.begin(job)
            defer { work.end(number) }
            do throws(EvstoreError) { return try await body(context(job)) } catch { throw log.failure(error, doing: name) }
        }
    }

    /// Runs work that leads out of a full disk; it may use the ballast's room.
    func workingWithBallast<R>(
        _ name: String, _ progress: ProgressHandler? = nil, _ body: (MigrationContext) async throws(EvstoreError) -> R
    ) async throws(EvstoreError) -> R {
        try await working(name, progress) { (context) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in try await body(context) }
        }
    }

    func context(_ job: Job) -> MigrationContext { MigrationContext(evolving, options: options, job) }
}

/// Keeps the error that a caller's closure threw inside a lower room's work, so that the caller gets it back unconverted.
final class CallerErrors: Sendable {
    private let noted = Monitor<(any Error)?>(nil)

    var first: (any Error)? { noted.withLock { $0 } }

    func noting<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            noted.withLock { $0 = $0 ?? error }
            throw error
        }
    }
}
