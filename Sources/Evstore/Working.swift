internal import EventLog
package import EventModel
internal import Migration
internal import Platform
internal import Projections

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
            return try await body(context(job))
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

    /// The context that migrations need of this store.
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
