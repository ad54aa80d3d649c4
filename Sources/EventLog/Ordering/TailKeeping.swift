internal import Bytes
package import EventModel
internal import LMDB
internal import Platform

/// Keeps what a cut of the cluster's log takes off a node, before it does: called on the writing thread, under the writer's turn, with the
/// last checkpoint before the cut. It is called again where what follows was interrupted.
/// - Returns: a row for the journal, as JSON, by the version that is live behind the cut.
package typealias TailKeeper = @Sendable (EventLog, ClusterCut, _ last: Checkpoint) throws -> @Sendable (_ live: SchemaVersion) -> [UInt8]

/// Calls a tail keeper for a log, which it does not keep open.
final class TailKeeping: Sendable {
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
    /// Has what a frame's cut takes off this node kept; returns the row for its journal, nil where nothing has to be.
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
            // It is refused as it is taken in, and takes nothing off that had to be kept.
            return nil
        }
    }
}
