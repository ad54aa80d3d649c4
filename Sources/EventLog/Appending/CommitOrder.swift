package import EventModel
package import LMDB
internal import Platform

/// Gives the commits of a node their place among those of all nodes of its cluster log. A store that is alone has none: LMDB's lock decides.
///
/// The thread that commits calls it; `trouble`, `follow`, `stop`, `end` and `reportNow` are any thread's. How a log takes in what others have
/// committed is here (`FrameIntake`); where that comes from is the order's.
package protocol CommitOrder: AnyObject, Sendable {
    /// Why the cluster log can't be asked; nil while it can.
    var trouble: EvstoreError? { get }

    /// Whether the cluster log can be asked. Waits for that a little, before anybody's lock is taken.
    func isReachable() -> Bool

    /// Gives a commit its place, with the blocks that it adds. What runs again where the map has to grow, and makes the same bytes, keeps it.
    /// - Throws: `EvstoreError`: clusterMismatch where the store is a node no more, appendTooLarge, logUnavailable, commitOutcomeUnknown.
    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: ContinuousClock.Instant
    ) throws -> Placing

    /// Whether the cluster log has commits that this node has not, so that what was refused was judged by an older state.
    /// - Parameter last: where the log ends; nil where the transaction has changed it.
    /// - Throws: `EvstoreError.clusterWentBack` where the cluster log ends before the log.
    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: ContinuousClock.Instant) throws -> Bool

    /// Takes in what the cluster log has and this node has not, each part in transactions of its own.
    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: ContinuousClock.Instant) throws

    /// Whether the order has rows of its own to write beside the next commit.
    var hasRows: Bool { get }

    /// Writes them; `confirm` follows once they are committed.
    func putRows(_ transaction: inout WriteTransaction) throws

    /// The commit stands here.
    func confirm()

    /// Ends a commit; whether it had got its place, so that one that has failed here is made by all others.
    @discardableResult
    func settle() -> Bool

    /// The last commit was made: says how far the node is, and gives up the connection.
    func finish()

    /// Keeps the node at the cluster log's end, on a thread of its own.
    /// - Parameter takeIn: takes in what there is, within an interval.
    func follow(_ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void) throws

    /// Tells that thread to stop.
    func stop()

    /// Stops it; returns when it has ended.
    func end()

    /// Says now how far this node is. Nothing depends on it.
    func reportNow()
}

/// What a commit has made that is to have its place.
package struct OrderedChange {
    /// Of the tables that all nodes share, as a frame has them (`SharedRows`).
    package var rows: [UInt8]
    /// Where its blocks begin; the position behind the last one where it has none.
    package var first: Position
    package var last: Checkpoint
    /// Whether it takes this node out.
    package var isLeaving = false
}

/// What became of a commit's place in the order of all commits.
package enum Placing {
    /// It has its place, and is made: by the node with its frame. A store that is alone always says so, without one.
    case placed(StateRows.Node?)
    /// Another node was first: its commits are taken in, and this one is made anew.
    case behind
    /// The cluster log can't be asked just now: the work goes back into the queue, where it has its deadline.
    case unreachable
    /// A cut has its place: it is undone here, and made by taking it in.
    case cut
}

/// Makes the order of a store that is opened for writing as a node.
package protocol CommitOrderSource: OrderSource {
    func order(_ context: LogContext, as membership: Membership) throws -> any CommitOrder
}

/// Of a node that is opened by a program which has no way to the cluster log: it reads, and changes what is the node's own.
final class UnknownOrder: CommitOrder {
    private let membership: Membership

    init(_ membership: Membership) { self.membership = membership }

    private var unknown: EvstoreError {
        .clusterMismatch(
            log: membership.log, reason: "the store is its node \(membership.node), and this program has no way to the cluster log",
            how: "open it by a program with EvstoreCluster, such as the command line")
    }

    var trouble: EvstoreError? { nil }
    // What waiting does not mend, an append is told at once.
    func isReachable() -> Bool { true }

    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: ContinuousClock.Instant
    ) throws -> Placing { throw unknown }

    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: ContinuousClock.Instant) throws -> Bool {
        throw unknown
    }

    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: ContinuousClock.Instant) throws { throw unknown }
    var hasRows: Bool { false }
    func putRows(_ transaction: inout WriteTransaction) throws {}
    func confirm() {}
    func settle() -> Bool { false }
    func finish() {}
    func follow(_ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void) throws {}
    func stop() {}
    func end() {}
    func reportNow() {}
}
