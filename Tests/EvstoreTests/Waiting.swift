import Foundation
import Testing

/// Waits on this thread, which is one of the store's own, for work that others do.
func waiting(for work: @escaping @Sendable () async throws -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do { try await work() } catch { Issue.record(error) }
        done.signal()
    }
    done.wait()
}
