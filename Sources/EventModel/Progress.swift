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

/// Asks long work to stop at its next chunk, in a valid state: it then throws `EvstoreError.interrupted`.
public final class Cancellation: Sendable {
    private let requested = Atomic<Bool>(false)
    private let other: Cancellation?

    public init() { other = nil }

    /// One that is also cancelled when `other` is.
    package init(with other: Cancellation?) { self.other = other }

    /// May be called from a signal handler's thread.
    public func cancel() { requested.store(true, ordering: .releasing) }

    public var isCancelled: Bool { requested.load(ordering: .acquiring) || other?.isCancelled ?? false }
}
