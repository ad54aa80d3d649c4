package import EventModel
internal import Logging
internal import Platform

/// What a node learned when it last asked its cluster log.
package final class NodeHealth: Sendable {
    package typealias Trouble = (error: EvstoreError, since: ContinuousClock.Instant)

    private struct State {
        var trouble: Trouble?
        var hasTwin = false
    }

    private let state = Monitor(State())

    /// The error that kept the node from reaching the cluster log's end, and since when.
    package var trouble: Trouble? { state.withLock { $0.trouble } }

    /// Whether another directory is used as the same node: a copy of this one, or the original of which this is a copy.
    var hasTwin: Bool { state.withLock { $0.hasTwin } }

    /// Notes an error, or that there is none; returns whether it differs from the one before.
    @discardableResult
    package func note(_ error: EvstoreError?) -> Bool {
        state.withLock { state in
            defer { state.trouble = error.map { ($0, state.trouble?.since ?? .now) } }
            return state.trouble?.error != error
        }
    }

    /// Notes whether there is a twin; returns whether that has changed.
    package func note(hasTwin: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasTwin = hasTwin }
            return state.hasTwin != hasTwin
        }
    }

    func take(_ other: NodeHealth) {
        let told = other.state.withLock { $0 }
        state.withLock { $0 = told }
    }
}

extension EventLog {
    /// Takes in the commits of the cluster log that this node lacks, as far as possible within a time, and for as long again while
    /// frames keep coming. Notes an error that kept it from the end (`clusterTrouble`). No-op for a store that belongs to no cluster log.
    package func catchUp(within interval: Duration) async {
        do {
            try await takeInFrames(within: interval, until: .now + interval)
            nodeHealth.note(nil)
            reportNode()
        } catch { nodeHealth.note(storeError(error, path, doing: "following the cluster log")) }
    }

    /// Takes over the note of another handle.
    package func adoptNodeHealth(of other: EventLog) { nodeHealth.take(other.nodeHealth) }

    /// Whether another directory is used as the same node, as far as is known.
    package var hasTwin: Bool { nodeHealth.hasTwin }

    package func warn(_ text: String) { logger.warning("\(text)") }

    /// Makes the store one that is alone, and leaves the node in its cluster log, since another directory is that node.
    package func leaveToTwin() async throws { try await update { update in update.becomesAlone = true } }
}
