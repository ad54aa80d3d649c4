internal import Dispatch
internal import EventModel
internal import Synchronization

extension Session {
    /// Carries out work that changes nothing and asks nobody whether it should stop: the first signal ends the wait for it, and with
    /// the wait the program.
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

/// What is given first, to one who may come before it or after.
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
