package import EventModel
internal import Logging
internal import Platform

/// What a node was told when the cluster log was last asked.
package final class ClusterNote: Sendable {
    package typealias Trouble = (error: EvstoreError, since: ContinuousClock.Instant)

    private struct State {
        var trouble: Trouble?
        var hasTwin = false
    }

    private let state = Monitor(State())

    /// What kept the node from the cluster log's end, and since when.
    package var trouble: Trouble? { state.withLock { $0.trouble } }

    /// Whether another directory speaks as this node: a copy, or that which this one is a copy of.
    var hasTwin: Bool { state.withLock { $0.hasTwin } }

    /// Whether it is another trouble than before.
    @discardableResult
    package func note(_ error: EvstoreError?) -> Bool {
        state.withLock { state in
            defer { state.trouble = error.map { ($0, state.trouble?.since ?? .now) } }
            return state.trouble?.error != error
        }
    }

    /// Whether it was otherwise before.
    package func note(hasTwin: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasTwin = hasTwin }
            return state.hasTwin != hasTwin
        }
    }

    func take(_ other: ClusterNote) {
        let told = other.state.withLock { $0 }
        state.withLock { $0 = told }
    }
}

extension EventLog {
    /// Takes in what the cluster log has and this node has not, as far as that goes within some seconds, and while frames come for as long
    /// again; what kept it from the end is noted (`clusterTrouble`). Nothing where the store belongs to none.
    package func catchUp(within seconds: Double) async {
        let interval = Duration.seconds(seconds)
        do {
            try await takeInFrames(within: interval, until: .now + interval)
            clusterNote.note(nil)
            reportNode()
        } catch { clusterNote.note(storeError(error, path, doing: "following the cluster log")) }
    }

    /// Takes over what another handle was told.
    package func takeNote(of other: EventLog) { clusterNote.take(other.clusterNote) }

    /// Whether another directory speaks as this node, as far as it was asked.
    package var hasTwin: Bool { clusterNote.hasTwin }

    package func warn(_ text: String) { logger.warning("\(text)") }

    /// Goes on alone, and leaves the node in its cluster log, as another directory is.
    package func leaveToTwin() async throws { try await update { update in update.leaveToTwin() } }
}

extension LogUpdate {
    fileprivate mutating func leaveToTwin() { becomesAlone = true }
}
