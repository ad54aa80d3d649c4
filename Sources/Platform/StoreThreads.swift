/// Threads of the store's own, for work that may wait for the disk or for other processes. Swift's pool has no more threads than there are
/// processors, and these stay free for the rest of the program.
///
/// A new thread is started when all others are busy, and ends when it has had nothing to do for a while.
package final class StoreThreads: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var threads = 0
        /// How many of the threads wait for a job.
        var idle = 0
    }

    package static let shared = StoreThreads()
    /// A limit: work that waits for longer than a system call gives its thread back meanwhile, so that more are never needed for long.
    private static let threadsMax = 64
    private static let idleMilliseconds = 5_000
    private let process = ProcessIdentity.id
    private let state = Monitor(State())

    /// Runs `body`, and what it awaits, on these threads. The child of a fork does not have them, and runs it on its own thread.
    package static func run<R, E: Error>(_ body: () async throws(E) -> R) async throws(E) -> R {
        guard shared.process == ProcessIdentity.id else { return try await body() }
        return try await withTaskExecutorPreference(shared, operation: body)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOneMore = state.change { state in
            state.jobs.append(job)
            let isOneMore = state.jobs.count > state.idle && state.threads < Self.threadsMax
            if isOneMore { state.threads += 1 }
            return isOneMore
        }
        guard isOneMore else { return }
        do throws(StorageError) { _ = try WorkerThread.start("evstore-work") { self.serve() } } catch {
            // Where no thread can be started, the other threads do the job, or this one.
            let isAlone = state.withLock { state in
                state.threads -= 1
                return state.threads == 0
            }
            while isAlone, let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    private func next() -> UnownedJob? { state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() } }

    private func serve() {
        while true {
            while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            state.withLock { $0.idle += 1 }
            _ = state.wait(milliseconds: Self.idleMilliseconds) { !$0.jobs.isEmpty }
            let hasEnded = state.withLock { state in
                state.idle -= 1
                if !state.jobs.isEmpty { return false }
                // Another thread may have taken the job; then this one has not been idle for long enough.
                state.threads -= 1
                return true
            }
            if hasEnded { return }
        }
    }
}
