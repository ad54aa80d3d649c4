internal import EventLog
package import EventModel

/// How a caller watches and stops a long operation that has no open store.
package struct RunControl: Sendable {
    private let cancellation: Cancellation?
    private let progress: ProgressHandler?

    package init(_ cancellation: Cancellation?, _ progress: ProgressHandler?) {
        (self.cancellation, self.progress) = (cancellation, progress)
    }

    /// Reports how far the operation is.
    /// - Parameter again: what an interrupted caller can do, such as "restore b again".
    /// - Throws: `EvstoreError.interrupted` where the caller has cancelled the operation.
    func report(_ event: ProgressEvent, again: String) throws(EvstoreError) {
        if cancellation?.isCancelled == true { throw .interrupted(again: again) }
        progress?(event)
    }
}
