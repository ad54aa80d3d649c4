internal import Bytes
package import EventModel
internal import LMDB
internal import Platform

/// Keeps the events that a cut of the cluster log takes off a node, before it does. It is called on the writing thread, under the writer's
/// turn, with the last checkpoint before the cut; and again if the cut was interrupted afterwards.
/// - Returns: makes the row for the journal, as JSON, from the version that is live after the cut.
package typealias TailKeeper = @Sendable (EventLog, ClusterCut, _ last: Checkpoint) throws -> @Sendable (_ live: SchemaVersion) -> [UInt8]

/// Calls a tail keeper for a log, without keeping the log open.
final class WeakTailKeeper: Sendable {
    private struct Kept {
        weak var log: EventLog?
    }

    private let keeper: TailKeeper
    private let kept = Monitor(Kept())

    init(_ keeper: @escaping TailKeeper) { self.keeper = keeper }

    func begin(_ log: EventLog) { kept.withLock { $0.log = log } }

    fileprivate func keep(_ cut: ClusterCut, through last: Checkpoint) throws -> @Sendable (SchemaVersion) -> [UInt8] {
        guard let log = kept.withLock({ $0.log }) else { throw EvstoreError.misuse("the store has been closed") }
        return try keeper(log, cut, last)
    }
}

extension LogContext {
    /// Lets the tail keeper keep the events that a frame's cut takes off this node. Returns the row for its journal; nil where there is
    /// nothing to keep.
    package func keepTail(_ bytes: [UInt8], _ node: StateRows.Node) throws -> ((SchemaVersion) -> [UInt8])? {
        guard let tailKeeping else { return nil }
        do {
            let frame = try ClusterFrame(checking: bytes.lent, after: node.end)
            guard let cut = try frame.cut else { return nil }
            let last = try access.environment.read { transaction in
                try cut.check(transaction, access)
                return try Blocks.end(transaction, access)
            }
            guard frame.last == Checkpoint(epoch: cut.epoch, position: cut.position), frame.blocks.byteCount == 0 else { return nil }
            return try tailKeeping.keep(cut, through: last)
        } catch is FrameDamage {
            // Such a frame is refused when it is taken in, and so takes no events off.
            return nil
        }
    }
}
