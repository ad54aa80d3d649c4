internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// The order of commits by a cluster log: each is a frame there before it is made here.
final class NodeOrder: CommitOrder, @unchecked Sendable {
    // Sound: `added`, `hasAdded`, `saving` and `connected` are touched only by the thread that has the turn to commit.
    private let membership: Membership
    private let context: LogContext
    private let sequencer: @Sendable () throws -> PostgresSequencer
    let fence: ServerFence
    private let follower = Monitor<FrameFollower?>(nil)
    private var connected: PostgresSequencer?
    /// A frame that the cluster log has, whose commit has not been made here. An update runs again where the map has to grow.
    private var added: NewFrame?
    /// Whether it has added any.
    private var hasAdded = false
    /// The server that the transaction writes down.
    private var saving: ServerMark?
    /// Why the cluster log can't be asked; nil while it can.
    private let unreachable = Monitor<EvstoreError?>(nil)

    /// - Parameter sequencer: makes one, which one thread uses.
    init(_ membership: Membership, _ context: LogContext, _ sequencer: @escaping @Sendable () throws -> PostgresSequencer) throws {
        let access = context.access
        let fence = ServerFence(membership, try access.environment.read { try StateRows.server($0, access.tables) })
        (self.membership, self.context, self.fence) = (membership, context, fence)
        self.sequencer = {
            let made = try sequencer()
            made.guardServers(fence.check)
            return made
        }
    }

    private var access: LogAccess { context.access }

    var trouble: EvstoreError? { unreachable.withLock { $0 } }

    func settle() -> Bool {
        defer { (added, saving) = (nil, nil) }
        return added != nil
    }

    func confirm() {
        if let saving { fence.noteSaved(saving) }
    }

    func isReachable() -> Bool {
        let end = ContinuousClock.now + Self.waitInterval
        do {
            try asked().connect(by: end)
            unreachable.withLock { $0 = nil }
            return true
        } catch {
            // What waiting does not mend, an append is told at once.
            guard let error = error as? EvstoreError, case .logUnavailable = error else { return true }
            unreachable.withLock { $0 = error }
            // A refusal comes at once.
            _ = unreachable.wait(milliseconds: max(nearest(ContinuousClock.now.duration(to: end) / .milliseconds(1)), 0)) { _ in false }
            return false
        }
    }

    /// How long the writing thread waits for the cluster log before it looks whether there is other work.
    private static let waitInterval = Duration.milliseconds(200)

    private func asked() throws -> PostgresSequencer {
        if let connected { return connected }
        let made = try sequencer()
        connected = made
        return made
    }

    // MARK: Adding

    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: ContinuousClock.Instant
    ) throws -> Placing {
        let node = try node(transaction, isLeaving: change.isLeaving)
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
    var hasRows: Bool { fence.unsaved != nil }

    func putRows(_ transaction: inout WriteTransaction) throws {
        saving = fence.unsaved
        if let saving { try StateRows.put(saving, &transaction, access.tables) }
    }

    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: ContinuousClock.Instant) throws -> Bool {
        let node = try node(transaction)
        if try !asked().isEnd(node.end, by: deadline) { return true }
        try node.requireNoMore(than: last ?? node.last)
        return false
    }

    /// - Throws: `EvstoreError.clusterMismatch` where this store is a node no more.
    private func node(_ transaction: borrowing ReadTransaction, isLeaving: Bool = false) throws -> StateRows.Node {
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

    // MARK: Taking in

    private static let pageInterval = Duration.seconds(5)

    /// Page by page.
    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: ContinuousClock.Instant) throws {
        let pages = FramePages(try asked())
        defer { pages.end() }
        while var (node, last) = try nodeEnd() {
            // A long way is gone page by page: each has its time.
            let page = try pages.page(
                after: node.end, at: last, by: max(deadline, .now + Self.pageInterval), isLast: .now >= deadline)
            try saveServer(&session, turn)
            if page.frames.isEmpty { return try node.requireNoMore(than: last) }
            var rest = page.frames[...]
            while !rest.isEmpty {
                // What a cut takes off is kept before, and so has to be there.
                let next = rest.prefix { !ClusterFrame.mayCut($0) }
                (node, last) = try takeIn(next.isEmpty ? rest.prefix(1) : next, node, &session, turn)
                rest = rest.dropFirst(max(next.count, 1))
            }
            try session.sweepTakenIn(turn)
            // Behind it there may be more by now.
            if page.isLast { return try node.requireNoMore(than: last) }
            if .now >= deadline {
                throw EvstoreError.logUnavailable(
                    log: node.membership.log, reason: "this node is still taking in what it has missed, and is at position \(last)")
            }
        }
    }

    private func nodeEnd() throws -> (node: StateRows.Node, last: Position)? {
        try access.environment.read { transaction in
            try StateRows.node(transaction, access.tables).map { ($0, try Blocks.last(transaction, access)) }
        }
    }

    /// Writes down that the cluster log is on another server now.
    private func saveServer(_ session: inout CommitSession, _ turn: WriteTurn) throws {
        guard let server = fence.unsaved else { return }
        try session.write(turn) { _, transaction in
            var transaction = transaction
            try StateRows.put(server, &transaction, access.tables)
        }
        fence.noteSaved(server)
    }

    /// Takes in frames in one transaction: one that may ask for a cut alone, others together.
    private func takeIn(
        _ frames: ArraySlice<[UInt8]>, _ node: StateRows.Node, _ session: inout CommitSession, _ turn: WriteTurn
    ) throws -> (StateRows.Node, last: Position) {
        let (access, context) = (access, context)
        let journal = try frames.first.flatMap { try ClusterFrame.mayCut($0) ? context.keepTail($0, node) : nil }
        return try session.write(turn) { _, transaction in
            var transaction = transaction
            var taken = node
            for frame in frames {
                taken = try FrameIntake.run(frame.lent, taken, &transaction, access, journal: journal, judge: context.judge)
            }
            return (taken, try Blocks.last(transaction.reads, access))
        }
    }

    // MARK: Following

    func follow(_ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void) throws {
        let made = FrameFollower(membership, context, fence, sequencer, takeIn)
        follower.withLock { $0 = made }
        try made.start()
    }

    // Let go of: it holds the committer, which holds this.
    func stop() { follower.withLock { $0.take() }?.stop() }
    func end() { follower.withLock { $0.take() }?.end() }
    func reportNow() { follower.withLock { $0 }?.reportNow() }

    func finish() {
        // The connection ends with the last commit, however long somebody keeps the closed log.
        defer { connected = nil }
        // Of a program that soon closes the node again nobody else would say it. Nothing depends on it.
        guard hasAdded, trouble == nil, let connected else { return }
        do {
            let report = try access.environment.read { try NodeReport.now(membership, $0, access).report }
            // Order: on this disk first, since frames that every node has are pruned.
            try access.makeDurable(at: context.path)
            _ = try connected.report(report, mayTakeOver: false, by: .now + Self.reportInterval)
        } catch { context.logger.debug("telling the cluster log how far this node is: \(error)") }
    }

    private static let reportInterval = Duration.seconds(1)
}
