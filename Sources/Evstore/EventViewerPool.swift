internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Event viewers between reads: each keeps the paths that it has compiled, and nothing of the events that it has shown. A read
/// takes one for itself and gives it back at its end.
final class EventViewerPool: Sendable {
    private struct Idle {
        let history: Digest
        let viewer: EventViewer
    }

    private let idle = Monitor<[Idle]>([])
    private static let keptMax = 16

    /// How many wait for the next read.
    var count: Int { idle.withLock { $0.count } }

    /// One that shows events at a version by a history: of those that wait the one that was given back last, or a new one.
    func take(_ log: EventLog, _ history: History, at version: SchemaVersion) -> EventViewer {
        let kept = idle.withLock { idle in
            idle.lastIndex { $0.viewer.target == version && $0.history == history.digest }.map { idle.remove(at: $0).viewer }
        }
        return kept ?? EventViewer(log, history, StreamNames(log, history), at: version)
    }

    /// Keeps a viewer that is used no more; the one that has waited longest makes room for it.
    func give(_ viewer: EventViewer, of history: History) {
        viewer.removeEvents()
        idle.withLock { idle in
            if idle.count >= Self.keptMax { idle.removeFirst() }
            idle.append(Idle(history: history.digest, viewer: viewer))
        }
    }
}
