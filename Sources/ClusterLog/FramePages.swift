internal import EventLog
internal import EventModel
internal import Platform

/// Consecutive frames.
struct FramePage: Sendable {
    var frames: [[UInt8]]
    /// Whether the cluster log had no further frames when it was asked.
    var isLast: Bool
}

/// The frames that a node lacks, page by page: if there are more, a thread fetches the next page while the caller takes one in.
final class FramePages {
    private let sequencer: PostgresSequencer
    private let patience: Duration
    /// Checks what frames register; nil where the caller does so in another way.
    let judge: CatalogueValidator?
    private var next: Fetch?

    /// - Parameter patience: how long a page may take if no deadline is given.
    init(_ sequencer: PostgresSequencer, patience: Duration = .seconds(5), judge: CatalogueValidator? = nil) {
        (self.sequencer, self.patience, self.judge) = (sequencer, patience, judge)
    }

    /// The frames after `end`, where the page before ended; see `PostgresSequencer.frames`.
    /// - Parameter isLast: whether the caller takes no further page, so that none is fetched ahead.
    func page(
        after end: ClusterLogEnd, at position: Position, by deadline: ContinuousClock.Instant? = nil, isLast: Bool = false
    ) throws -> FramePage {
        let deadline = deadline ?? .now + patience
        let fetched = next
        next = nil
        let page = try fetched.map { try $0.page() } ?? sequencer.frames(after: end, at: position, by: deadline)
        if !page.isLast, !isLast, let last = page.frames.last.flatMap({ ClusterFrame.Head($0) }) {
            next = try Fetch(sequencer, after: last.end, at: last.last, by: max(deadline, .now + patience))
        }
        return page
    }

    /// Returns when no thread uses the sequencer any more. A caller that stops before the last page must call it.
    func end() {
        next?.wait()
        next = nil
    }

    private final class Fetch: Sendable {
        private let outcome = Monitor<Result<FramePage, any Error>?>(nil)

        init(_ sequencer: PostgresSequencer, after end: ClusterLogEnd, at position: Position, by deadline: ContinuousClock.Instant) throws {
            let outcome = outcome
            _ = try WorkerThread.start("evstore-fetch") {
                let result = Result<FramePage, any Error> { try sequencer.frames(after: end, at: position, by: deadline) }
                outcome.change { $0 = result }
            }
        }

        func wait() { outcome.wait(until: { $0 != nil }, { _ in }) }

        func page() throws -> FramePage {
            try outcome.wait(until: { $0 != nil }) { result in
                guard let result else { throw EvstoreError.misuse("a page that was waited for is not there") }
                return try result.get()
            }
        }
    }
}
