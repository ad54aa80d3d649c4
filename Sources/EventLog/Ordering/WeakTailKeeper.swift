package import EventModel
package import Hashing
internal import Platform

/// A cut of the log that is ordered like every other change of a cluster: the node that requests it adds a frame without blocks, and each
/// node, including that one, makes the cut when it takes in the frame.
package struct ClusterCut: Hashable, Sendable {
    package var position: Position
    package var epoch: Epoch
    package var link: Digest
    package var note: String

    package init(at position: Position, _ epoch: Epoch, link: Digest, note: String) {
        (self.position, self.epoch, self.link, self.note) = (position, epoch, link, note)
    }
}

/// Keeps the events that a cut of the cluster log takes off a node, before it does. It is called on the writing thread, under the writer's
/// turn, with the last checkpoint before the cut; and again if the cut was interrupted afterwards.
/// - Returns: makes the row for the journal, as JSON, from the version that is live after the cut.
package typealias TailKeeper = @Sendable (EventLog, ClusterCut, _ last: Checkpoint) throws -> @Sendable (_ live: SchemaVersion) -> [UInt8]

/// Calls a tail keeper for a log, without keeping the log open.
package final class WeakTailKeeper: Sendable {
    private struct Kept {
        weak var log: EventLog?
    }

    private let keeper: TailKeeper
    private let kept = Monitor(Kept())

    init(_ keeper: @escaping TailKeeper) { self.keeper = keeper }

    func begin(_ log: EventLog) { kept.withLock { $0.log = log } }

    package func keep(_ cut: ClusterCut, through last: Checkpoint) throws -> @Sendable (SchemaVersion) -> [UInt8] {
        guard let log = kept.withLock({ $0.log }) else { throw EvstoreError.misuse("the store has been closed") }
        return try keeper(log, cut, last)
    }
}
