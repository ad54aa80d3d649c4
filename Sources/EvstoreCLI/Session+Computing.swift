internal import Dispatch
internal import EventModel

extension Session {
    /// Runs work that changes nothing and never checks for cancellation: the first signal ends the wait for it, and with that the program.
    func computing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        let (results, answer) = AsyncThrowingStream<R, any Error>.makeStream()
        DispatchQueue.global().async {
            do {
                answer.yield(try body())
                answer.finish()
            } catch { answer.finish(throwing: error) }
        }
        for try await result in results { return result }
        // Without a result the stream ends by a cancellation alone.
        throw EvstoreError.interrupted(again: "")
    }
}
