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

    /// Waits until the closure has ended.
    package func join() { done.wait(until: { $0 }, { _ in }) }

    /// Makes the waits of the calling thread end within a microsecond of their time.
    package static func useExactTimers() { evstore_exact_timers() }

    /// Identifies the calling thread within this process.
    package static var currentID: UInt { UInt(pthread_self()) }
}
