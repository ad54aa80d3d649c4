import Platform

/// Runs work in a task of its own, which the work can cancel from wherever it is called back: a call of the store ends then as it does
/// where a service cancels the task that awaits it.
package func cancellable<R: Sendable>(
    _ body: @escaping @Sendable (_ cancel: @escaping @Sendable () -> Void) async throws -> R
) async throws -> R {
    let state = Monitor<(task: Task<R, any Error>?, isCancelled: Bool)>((nil, false))
    let task = Task {
        try await body {
            state.withLock {
                $0.isCancelled = true
                $0.task?.cancel()
            }
        }
    }
    state.withLock {
        $0.task = task
        if $0.isCancelled { task.cancel() }
    }
    return try await task.value
}

/// Runs work in a task that is cancelled before it begins.
package func inCancelledTask<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    try await cancellable { cancel in
        cancel()
        while !Task.isCancelled { await Task.yield() }
        return try await body()
    }
}

/// Something that has happened or not, told by one thread to others.
package final class Flag: Sendable {
    private let state = Monitor(false)

    package init() {}
    package var isSet: Bool { state.withLock { $0 } }
    package func set() { state.withLock { $0 = true } }
}
