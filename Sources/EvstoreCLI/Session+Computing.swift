internal import Dispatch
internal import EventModel
internal import Synchronization

extension Session {
    /// Runs work that changes nothing and never checks for cancellation: the first signal ends the wait for it, and with that the program.
    func computing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        let answer = Answer<R>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answer.wait(continuation)
                DispatchQueue.global().async { answer.give(Result { try body() }) }
            }
        } onCancel: {
            answer.give(.failure(EvstoreError.interrupted(again: "")))
        }
    }
}

/// Keeps the first of several results for one waiter, which may begin to wait before or after it comes.
private final class Answer<R: Sendable>: Sendable {
    private struct State {
        var given: Result<R, any Error>?
        var waiting: CheckedContinuation<R, any Error>?
    }

    private let state = Mutex(State())

    func wait(_ continuation: CheckedContinuation<R, any Error>) {
        let given = state.withLock { state in
            if state.given == nil { state.waiting = continuation }
            return state.given
        }
        if let given { continuation.resume(with: given) }
    }

    func give(_ result: Result<R, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<R, any Error>? in
            guard state.given == nil else { return nil }
            state.given = result
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(with: result)
    }
}
