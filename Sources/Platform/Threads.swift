internal import CEvstoreSystem
internal import Glibc

/// An operating system thread that runs one closure to its end.
package final class WorkerThread: Sendable {
    private let done = Monitor(false)
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// - Parameter name: names the thread in the error where it can't be started.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(StorageError) -> WorkerThread {
        let thread = WorkerThread(body)
        var handle = pthread_t()
        let code = unsafe pthread_create(
            &handle, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let thread = unsafe Unmanaged<WorkerThread>.fromOpaque(argument).takeRetainedValue()
                thread.body()
                thread.done.change { $0 = true }
                return nil
            }, Unmanaged.passRetained(thread).toOpaque())
        guard code == 0 else {
            unsafe Unmanaged.passUnretained(thread).release()
            throw StorageError(code, "starting the thread \(name)")
        }
        pthread_detach(handle)
        return thread
    }

    /// Fails where the system does not let this process run so many more threads at once.
    package static func require(_ count: Int) throws(StorageError) {
        let isOver = Monitor(false)
        var threads: [WorkerThread] = []
        defer {
            isOver.change { $0 = true }
            for thread in threads { thread.join() }
        }
        while threads.count < count { threads.append(try start("evstore-trial") { isOver.wait(until: { $0 }, { _ in }) }) }
    }

    package func join() { done.wait(until: { $0 }, { _ in }) }

    /// Makes the waits of the calling thread end within a microsecond of their time.
    package static func useExactTimers() { evstore_exact_timers() }

    /// Identifies the calling thread within this process.
    package static var currentID: UInt { UInt(pthread_self()) }
}

package enum Processors {
    package static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
    /// More threads than this only take memory, and time to start.
    package static let threadsMax = 256

    /// How many threads work: as many as were asked for, within `threadsMax`; one for each processor where nil.
    package static func threads(_ asked: Int?) -> Int { min(max(1, asked ?? count), threadsMax) }
}

/// Runs `body` for 0 ..< count, each on a thread of its own, and returns when all have ended.
/// - Throws: the error of the lowest index whose `body` threw.
package func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    if count == 1 { return try body(0) }
    let failures = Monitor<[Int: any Error]>([:])
    var threads: [WorkerThread] = []
    for index in 0 ..< count {
        let work: @Sendable () -> Void = { do { try body(index) } catch { failures.withLock { $0[index] = error } } }
        // Without a new thread, this one does the work.
        do { threads.append(try WorkerThread.start("evstore-part", work)) } catch { work() }
    }
    for thread in threads { thread.join() }
    if let first = failures.withLock({ failures in failures.min { $0.key < $1.key }?.value }) { throw first }
}

/// Runs `side` on a thread of its own while `body` runs here; both have ended when it returns. Where no thread can be started, `side` is
/// left out.
package func alongside<R, E: Error>(_ side: @escaping @Sendable () -> Void, _ body: () throws(E) -> R) throws(E) -> R {
    let thread: WorkerThread?
    do { thread = try WorkerThread.start("evstore-beside", side) } catch { thread = nil }
    defer { thread?.join() }
    return try body()
}

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
