package import EventModel
package import Hashing
package import LMDB
package import Platform

/// Orders the commits of a node among those of all nodes of its cluster log. A store that is alone has none: LMDB's lock decides.
///
/// Only the committing thread calls it, except `trouble`, `follow`, `end` and `reportNow`, which any thread may call. This room
/// knows what a commit adds; the order knows what becomes of it, and where the commits of others come from.
package protocol CommitOrder: AnyObject, Sendable {
    /// The error that keeps the cluster log from being asked; nil while there is none.
    var trouble: EvstoreError? { get }

    /// Whether the cluster log can be asked. Waits a little for that, before any lock is taken.
    func isReachable() -> Bool

    /// Gives a commit its place, with the blocks that it adds. A commit that runs again because the map has to grow, and makes the same
    /// bytes, keeps its place.
    /// - Throws: `EvstoreError`: clusterMismatch where the store is no longer a node, appendTooLarge, logUnavailable, commitOutcomeUnknown.
    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: Instant
    ) throws -> Placement

    /// Whether the cluster log has commits that this node lacks, so that a refusal was based on an older state.
    /// - Parameter last: the end of the log; nil where the transaction has changed it.
    /// - Throws: `EvstoreError.clusterWentBack` where the cluster log ends before the log.
    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: Instant) throws -> Bool

    /// Takes in the commits of the cluster log that this node lacks, each part in transactions of its own.
    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: Instant) throws

    /// Whether the order has rows of its own to write in the next commit.
    var hasRows: Bool { get }

    /// Writes these rows; `confirm` follows once they are committed.
    func putRows(_ transaction: inout WriteTransaction) throws

    /// Says that the commit is in this node's log.
    func confirm()

    /// Ends a commit. Returns whether it had got its place: then all other nodes make it, even if it has failed here.
    @discardableResult
    func settle() -> Bool

    /// Called after the last commit, when the log closes: reports how far the node is, and closes the connection.
    func finish()

    /// Keeps the node at the cluster log's end, on a thread of its own.
    /// - Parameter takeIn: takes in the missing commits, within an interval.
    func follow(_ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void) throws

    /// Tells this thread to stop.
    /// - Parameter waiting: whether to return only when it has ended.
    func end(waiting: Bool)

    /// Reports how far this node is. Nothing depends on it.
    func reportNow()
}

/// The result of a commit that is to get its place.
package struct OrderedChange {
    /// The changes beside the blocks, in their order.
    package var shared: [SharedChange]
    /// Where the commit's blocks begin; without blocks, the position after the last one.
    package var first: Position
    package var last: Checkpoint
    /// Whether the commit takes this node out of the cluster log.
    package var isLeaving = false
}

/// A change beside the events that is made on every node of a cluster: of registered versions and definitions, marks of imports, the nodes,
/// and all of the numbers except `live`. Other rows are a node's own: its journal, snapshots, consumers, generations.
package enum SharedChange: Sendable {
    case cut(ClusterCut)
    case numbers(StoreState)
    /// The value is nil where the row is removed.
    case row(Catalogue, key: [UInt8], value: [UInt8]?)
}

/// The result of asking for a commit's place in the order of all commits.
package enum Placement {
    /// The commit has its place and is made: with this row of the node, which its frame gives. A store that is alone always gets this,
    /// without a row.
    case placed(StateRows.Node?)
    case unplaced(Unplaced)
}

/// Why a commit can't be made now.
package enum Unplaced {
    /// Another node was first: its commits are taken in, and this commit is made anew.
    case behind
    /// The cluster log can't be asked at the moment: the work goes back into the queue, where its deadline applies.
    case unreachable
    /// A cut has its place: it is undone here, and made by taking it in.
    case cut
}

/// Makes the order of a store that is opened for writing as a node.
package protocol CommitOrderSource: OrderSource {
    func order(_ context: LogContext, as membership: ClusterMembership) throws -> any CommitOrder
}

/// The order of a node that was opened by a program without access to the cluster log: such a node can be read, and its own rows can be
/// changed.
final class UnavailableOrder: CommitOrder {
    private let membership: ClusterMembership

    init(_ membership: ClusterMembership) { self.membership = membership }

    private var unknown: EvstoreError {
        .clusterMismatch(
            log: membership.log, reason: "the store is its node \(membership.node), and this program has no way to the cluster log",
            how: "open it by a program with EvstoreCluster, such as the command line")
    }

    var trouble: EvstoreError? { nil }
    // An error that waiting can't fix is returned to the append at once, by `place`.
    func isReachable() -> Bool { true }

    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: Instant
    ) throws -> Placement { throw unknown }

    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: Instant) throws -> Bool {
        throw unknown
    }

    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: Instant) throws { throw unknown }
    var hasRows: Bool { false }
    func putRows(_ transaction: inout WriteTransaction) throws {}
    func confirm() {}
    func settle() -> Bool { false }
    func finish() {}
    func follow(_ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void) throws {}
    func end(waiting: Bool) {}
    func reportNow() {}
}

/// The rows of the registered versions and definitions after a frame: the log itself can't read them.
package struct RegisteredCatalogues: Sendable {
    package typealias Rows = [(key: [UInt8], value: [UInt8])]
    package var schemas, definitions: Rows
    /// The digest of the history that the numbers name.
    package var history: Digest

    package init(schemas: Rows, definitions: Rows, history: Digest) {
        (self.schemas, self.definitions, self.history) = (schemas, definitions, history)
    }
}

/// Refuses versions and definitions that no program could read, before a node takes them in.
/// - Throws: `EvstoreError`: schemaNewer where a newer program could.
package typealias CatalogueValidator = @Sendable (RegisteredCatalogues) throws -> Void
