internal import Synchronization

/// How far long work has come.
public struct ProgressEvent: Hashable, Sendable {
    /// The step's name, such as `replay` or `verify`.
    public var step: String
    /// What is done and what there is to do, in events or rows; a total of 0 means that it is not known.
    public var done: UInt64
    public var total: UInt64
    public var quarantined: UInt64
    /// One clause for a person, or empty.
    public var note: String

    public init(step: String, done: UInt64 = 0, total: UInt64 = 0, quarantined: UInt64 = 0, note: String = "") {
        (self.step, self.done, self.total) = (step, done, total)
        (self.quarantined, self.note) = (quarantined, note)
    }
}

/// Called with the progress of long work, on the thread that does the work.
public typealias ProgressHandler = @Sendable (ProgressEvent) -> Void

/// One piece of long work: what it is called, who hears how far it has come, and whether it was asked to stop.
///
/// A job is made at the front door, for a call that its caller's task can cancel, and handed down to every room that works for it.
package struct Job: Sendable {
    /// What is done, such as `replay to v5`: an interruption asks to do it again.
    package let name: String
    private let progress: ProgressHandler?
    private let stop: Stop

    private final class Stop: Sendable {
        let isRequested = Atomic<Bool>(false)
    }

    package init(_ name: String, _ progress: ProgressHandler? = nil) { (self.name, self.progress, stop) = (name, progress, Stop()) }

    /// A job that reports to `progress` instead, and that stops with this one.
    private init(_ job: Job, _ name: String, _ progress: ProgressHandler?) {
        (self.name, self.progress, stop) = (name, progress, job.stop)
    }

    /// A part of this job under a name of its own, which stops with it.
    package func part(_ name: String) -> Job { Job(self, name, progress) }

    /// This job without anybody who hears of its progress.
    package var silent: Job { Job(self, name, nil) }

    /// This job, whose progress `body` hears of first.
    package func told(_ body: @escaping ProgressHandler) -> Job {
        Job(self, name) { [progress] event in
            body(event)
            progress?(event)
        }
    }

    /// Asks the work to stop where it next checks, in a valid state. Any thread may call it.
    package func cancel() { stop.isRequested.store(true, ordering: .releasing) }

    package var isCancelled: Bool { stop.isRequested.load(ordering: .acquiring) || Task.isCancelled }

    /// - Throws: `EvstoreError.interrupted` where the work was asked to stop. Order: called between chunks, never between the parts of one
    ///   durable step.
    package func check() throws(EvstoreError) {
        if isCancelled { throw interrupted }
    }

    package var interrupted: EvstoreError { .interrupted(again: "\(name) again") }

    /// Reports how far the work has come, between two chunks.
    /// - Throws: `EvstoreError.interrupted` where the work was asked to stop.
    package func advance(_ step: String, done: UInt64, total: UInt64 = 0) throws(EvstoreError) {
        try check()
        report(step, done: done, total: total)
    }

    package func report(_ event: ProgressEvent) { progress?(event) }

    package func report(_ step: String, done: UInt64 = 0, total: UInt64 = 0, quarantined: UInt64 = 0, _ note: String = "") {
        progress?(ProgressEvent(step: step, done: done, total: total, quarantined: quarantined, note: note))
    }
}
