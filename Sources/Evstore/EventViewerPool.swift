internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Keeps event viewers between reads: each keeps its compiled paths, and nothing of the events that it has shown. A read takes one for
/// itself and gives it back at its end.
final class EventViewerPool: Sendable {
    private struct Idle {
        let history: Digest
        let viewer: EventViewer
    }

    private let idle = Monitor<[Idle]>([])
    private static let keptMax = 16

    /// The number of viewers that are kept.
    var count: Int { idle.withLock { $0.count } }

    /// A viewer for a history at a version: the kept one that was given back last, or a new one.
    func take(_ log: EventLog, _ history: History, at version: SchemaVersion) -> EventViewer {
        let kept = idle.withLock { idle in
            idle.lastIndex { $0.viewer.target == version && $0.history == history.digest }.map { idle.remove(at: $0).viewer }
        }
        return kept ?? EventViewer(log, history, StreamNames(log, history), at: version)
    }

    /// Keeps a viewer that is no longer in use. Where the pool is full, it replaces the one that was kept longest.
    func give(_ viewer: EventViewer, of history: History) {
        viewer.removeEvents()
        idle.withLock { idle in
            if idle.count >= Self.keptMax { idle.removeFirst() }
            idle.append(Idle(history: history.digest, viewer: viewer))
        }
    }
}
