internal import Synchronization

/// The progress of a long operation.
public struct ProgressEvent: Hashable, Sendable {
    /// The step's name, such as `replay` or `verify`.
    public var step: String
    /// How much is done of the step, in events, rows, lines, bytes or runs; a total of 0 means that it is unknown.
    public var done: UInt64
    public var total: UInt64
    public var quarantined: UInt64
    /// One clause for human readers, or empty.
    public var note: String

    public init(step: String, done: UInt64 = 0, total: UInt64 = 0, quarantined: UInt64 = 0, note: String = "") {
        (self.step, self.done, self.total) = (step, done, total)
        (self.quarantined, self.note) = (quarantined, note)
    }
}

/// Called with the progress of a long operation, on the threads that perform it, which may be several at once.
public typealias ProgressHandler = @Sendable (ProgressEvent) -> Void

/// A long operation: its name, its progress handler, and whether it was cancelled.
///
/// The public call creates the job, since the caller's task can cancel that call, and passes it to every room that works for it.
package struct Job: Sendable {
    /// The operation's name, such as `replay to v5`; the error of an interruption proposes to run it again.
    package let name: String
    private let progress: ProgressHandler?
    private let stop: Stop

    private final class Stop: Sendable {
        let isRequested = Atomic<Bool>(false)
    }

    package init(_ name: String, _ progress: ProgressHandler? = nil) { (self.name, self.progress, stop) = (name, progress, Stop()) }

    private init(_ name: String, _ progress: ProgressHandler?, _ stop: Stop) {
        (self.name, self.progress, self.stop) = (name, progress, stop)
    }

    /// This job without a progress handler.
    package var silent: Job { Job(name, nil, stop) }

    /// This job with another progress handler, which is called before the present one.
    package func reporting(to body: @escaping ProgressHandler) -> Job {
        Job(
            name,
            { [progress] event in
                body(event)
                progress?(event)
            }, stop)
    }

    /// Asks the operation to stop at its next check, where its state is valid. Any thread may call this.
    package func cancel() { stop.isRequested.store(true, ordering: .releasing) }

    package var isCancelled: Bool { stop.isRequested.load(ordering: .acquiring) || Task.isCancelled }

    /// Order: called between chunks, never between the parts of one durable step.
    /// - Throws: `EvstoreError.interrupted` if the job was cancelled.
    package func check() throws(EvstoreError) {
        if isCancelled { throw interrupted }
    }

    package var interrupted: EvstoreError { .interrupted(again: "\(name) again") }

    /// Reports the progress between two chunks.
    /// - Throws: `EvstoreError.interrupted` if the job was cancelled.
    package func advance(_ step: String, done: UInt64, total: UInt64 = 0) throws(EvstoreError) {
        try check()
        report(step, done: done, total: total)
    }

    package func report(_ event: ProgressEvent) { progress?(event) }

    package func report(_ step: String, done: UInt64 = 0, total: UInt64 = 0, quarantined: UInt64 = 0, _ note: String = "") {
        progress?(ProgressEvent(step: step, done: done, total: total, quarantined: quarantined, note: note))
    }
}
