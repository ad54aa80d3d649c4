internal import EventLog
package import EventModel
internal import Migration
internal import Platform
internal import Projections

/// Runs long work on the store's own threads, and awaits it: it may wait for the disk or for other processes.
///
/// The job that is made here stops where the caller's task is cancelled; every room below asks the job.
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

extension EventStore {
    /// Runs long work on this store.
    func working<R>(
        _ name: String, _ progress: ProgressHandler? = nil, _ body: (MigrationSite) async throws(EvstoreError) -> R
    ) async throws(EvstoreError) -> R {
        try await Evstore.working(name, progress) { (job) async throws(EvstoreError) in try await body(site(job)) }
    }

    /// Runs work that leads out of a full disk, with the ballast's room where it needs it.
    func workingWithBallast<R>(
        _ name: String, _ progress: ProgressHandler? = nil, _ body: (MigrationSite) async throws(EvstoreError) -> R
    ) async throws(EvstoreError) -> R {
        try await working(name, progress) { (site) async throws(EvstoreError) in
            try await log.withBallast { () async throws(EvstoreError) in try await body(site) }
        }
    }

    /// This store as the rooms of migrations see it.
    func site(_ job: Job) -> MigrationSite { MigrationSite(evolving, options: options, job) }
}
