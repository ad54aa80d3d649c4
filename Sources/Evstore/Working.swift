internal import EventModel
internal import Platform
internal import Projections

/// Runs work that may wait for the disk or for other processes on the store's own threads, and awaits it.
/// - Parameter cancellation: asks the work to stop, as cancelling the task does.
func working<R>(
    _ cancellation: Cancellation? = nil, _ body: (Cancellation) async throws(EvstoreError) -> R
) async throws(EvstoreError) -> R {
    let cancellation = Cancellation(with: cancellation)
    do {
        return try await withTaskCancellationHandler {
            try await StoreThreads.run { try await body(cancellation) }
        } onCancel: {
            cancellation.cancel()
        }
    } catch { throw EvstoreError(converting: error) }
}
