internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging
internal import Platform

/// How the commits of a node get their place in the order of the cluster: what the file ahead of the log and LMDB's lock decide for a store
/// that is alone. Used by the thread whose turn it is to commit.
final class NodeOrder {
    let membership: Membership
    private let source: (any SequencerSource)?
    private let store: String
    private let logger: Logger
    let fence: ServerFence?
    private var sequencer: (any Sequencer)?
    /// A frame that the cluster log has, whose commit has not been made here. An update runs again where the map has to grow.
    private var added: NewFrame?
    /// Whether it has added any.
    private var hasAdded = false
    /// The server that the transaction writes down.
    private var saving: ServerMark?
    /// Why the cluster log can't be asked; nil while it can.
    let trouble = Monitor<EvstoreError?>(nil)

    init(_ membership: Membership, _ context: LogContext) {
        (self.membership, source, store, logger) = (membership, context.options.sequencing, context.path, context.logger)
        fence = context.fence
    }

    /// Ends a commit; whether a frame was added to the cluster log in it, so that one that has failed here is made there.
    func settle() -> Bool {
        defer { (added, saving) = (nil, nil) }
        return added != nil
    }

    /// The transaction was committed.
    func confirm() {
        if let saving { fence?.noteSaved(saving) }
    }

    /// Whether the cluster log can be asked; waits for that a little, before anybody's lock is taken.
    func isReachable() -> Bool {
        let end = ContinuousClock.now + Self.waitInterval
        do {
            try asked().connect(by: end)
            trouble.withLock { $0 = nil }
            return true
        } catch {
            // What waiting does not mend, an append is told at once.
            guard let error = error as? EvstoreError, case .logUnavailable = error else { return true }
            trouble.withLock { $0 = error }
            // A refusal comes at once.
            _ = trouble.wait(milliseconds: max(nearest(ContinuousClock.now.duration(to: end) / .milliseconds(1)), 0)) { _ in false }
            return false
        }
    }

    /// How long the writing thread waits for the cluster log before it looks whether there is other work.
    private static let waitInterval = Duration.milliseconds(200)

    private func asked() throws -> any Sequencer {
        if let sequencer { return sequencer }
        guard let source else {
            throw EvstoreError.clusterMismatch(
                log: membership.log, reason: "the store is its node \(membership.node), and this program has no way to the cluster log",
                how: "open it by a program with EvstoreCluster, such as the command line")
        }
        let made = try source.sequencer(of: membership, at: store)
        if let fence { made.guardServers(fence.check) }
        sequencer = made
        return made
    }

    // MARK: Adding

    /// What a commit has made that is to have its place in the cluster log.
    struct Change {
        var rows: [UInt8]
        /// Where its blocks begin; the position behind the last one where it has none.
        var first: Position
        var last: Checkpoint
        /// Whether it takes this node out.
        var isLeaving = false
    }

    /// Adds what a commit has made to the cluster log, with the blocks that it adds.
    /// - Returns: with `placed` the node with that frame, for its row.
    /// - Throws: `EvstoreError`: logUnavailable, commitOutcomeUnknown.
    func place(
        _ change: Change, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, _ access: LogAccess,
        by deadline: ContinuousClock.Instant
    ) throws -> Placing {
        let node = try node(transaction, access, isLeaving: change.isLeaving)
        // After a power cut the log may be ahead of the node's row: the frames are passed by first.
        guard change.first == node.last.next else { return .behind }
        let frame = blocks.lend { ClusterFrame.encoded(after: node.end, change.last, rows: change.rows.lent, blocks: $0) }
        try frame.checkSize()
        // That of an update which runs again stands already.
        if added?.bytes != frame.bytes {
            do { try asked().connect(by: .now + Self.waitInterval) } catch let error as EvstoreError {
                // Whoever waits for PostgreSQL does it without the writer's turn.
                if case .logUnavailable = error, .now < deadline { return .unreachable }
                throw error
            }
            guard try asked().add(frame, after: node.end, by: deadline) else { return .behind }
            added = frame
            hasAdded = true
        }
        return .placed(StateRows.Node(membership: node.membership, end: frame.end, last: change.last.position))
    }

    /// Whether the cluster log is on another server than the node's rows say.
    var hasUnsavedServer: Bool { fence?.unsaved != nil }

    /// Writes down the server that the cluster log is on now; `confirm` follows.
    func saveServer(_ transaction: inout WriteTransaction, _ access: LogAccess) throws {
        saving = fence?.unsaved
        if let saving { try StateRows.put(saving, &transaction, access.tables) }
    }

    /// Whether the cluster log has frames that this node has not, so that what was refused was judged by an older state.
    /// - Parameter last: where the log ends; nil where the transaction has changed it.
    /// - Throws: `EvstoreError.clusterWentBack` where it ends before the log.
    func isBehind(
        _ transaction: borrowing ReadTransaction, _ access: LogAccess, last: Position?, by deadline: ContinuousClock.Instant
    ) throws -> Bool {
        let node = try node(transaction, access)
        if try !asked().isEnd(node.end, by: deadline) { return true }
        try node.requireNoMore(than: last ?? node.last)
        return false
    }

    /// - Throws: `EvstoreError.clusterMismatch` where this store is a node no more.
    private func node(_ transaction: borrowing ReadTransaction, _ access: LogAccess, isLeaving: Bool = false) throws -> StateRows.Node {
        let key = NodeRow.key(membership.node)
        let row = try Rows.get(key, transaction, access.tables[.notes]).flatMap { NodeRow(key, $0) }
        let isMember = isLeaving || row?.incarnation == membership.incarnation
        guard let node = try StateRows.node(transaction, access.tables), node.membership == membership, isMember else {
            throw EvstoreError.clusterMismatch(
                log: membership.log, reason: "the node \(membership.node) was taken out of it, or another store has taken its place",
                how: "join anew in another directory: \(.joinCluster)")
        }
        return node
    }

    /// Says how far this node is, where it has added a frame: nobody else would, of a program that soon closes it again. Nothing depends on it.
    func report(_ access: LogAccess) {
        guard hasAdded, trouble.withLock({ $0 }) == nil, let sequencer else { return }
        do {
            let report = try access.environment.read { try NodeReport.now(membership, $0, access).report }
            // Order: on this disk first, since frames that every node has are pruned.
            try AheadWriter.sync(at: store, access.ahead?.words)
            _ = try sequencer.report(report, mayTakeOver: false, by: .now + Self.reportInterval)
        } catch { logger.debug("telling the cluster log how far this node is: \(error)") }
    }

    private static let reportInterval = Duration.seconds(1)

    // MARK: Taking in

    /// What the cluster log has and the log has not.
    func pages() throws -> FramePages { FramePages(try asked()) }
}

/// What became of a commit's place in the order of all commits.
enum Placing {
    /// It has its place, and is made: in a cluster log, by the node with its frame. A store that is alone always says so.
    case placed(StateRows.Node?)
    /// Another node was first: its frames are taken in, and the commit is made anew.
    case behind
    /// The cluster log can't be asked just now: the work goes back into the queue, where it has its deadline.
    case unreachable
    /// A cut has its place: it is undone here, and made by taking its frame in.
    case cut
}
