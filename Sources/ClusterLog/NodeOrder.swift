internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging
internal import Platform

/// The order of commits according to a cluster log: each commit becomes a frame there before it is made here.
final class NodeOrder: CommitOrder, @unchecked Sendable {
    // Sound: `added`, `hasAdded`, `saving` and `connected` are touched only by the thread that has the turn to commit.
    private let membership: ClusterMembership
    private let context: LogContext
    private let sequencer: @Sendable () throws -> PostgresSequencer
    let fence: ServerFence
    private let follower = Monitor<FrameFollower?>(nil)
    private var connected: PostgresSequencer?
    /// A frame that the cluster log has and whose commit was not made here yet. Kept since an update runs again if the map has to grow.
    private var added: NewClusterFrame?
    private var hasAdded = false
    /// The server that the current transaction writes down.
    private var saving: ServerMark?
    /// The error that keeps the cluster log from being asked; nil while there is none.
    private let unreachable = Monitor<EvstoreError?>(nil)

    /// - Parameter sequencer: makes a sequencer, which one thread uses.
    init(_ membership: ClusterMembership, _ context: LogContext, _ sequencer: @escaping @Sendable () throws -> PostgresSequencer) throws {
        let access = context.access
        let fence = ServerFence(membership, try access.environment.read { try StateRows.server($0, access.tables) })
        (self.membership, self.context, self.fence) = (membership, context, fence)
        self.sequencer = {
            let made = try sequencer()
            made.connection.check = fence.check
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
        let end = Instant.now + Self.waitInterval
        do {
            try asked().connection.connect(by: end)
            unreachable.withLock { $0 = nil }
            return true
        } catch {
            // `place` reports an error that waiting can't fix.
            guard let error = error as? EvstoreError, case .logUnavailable = error else { return true }
            unreachable.withLock { $0 = error }
            // A refusal comes before the time is over: wait for the rest.
            _ = unreachable.wait(milliseconds: max(nearest(Instant.now.duration(to: end) / .milliseconds(1)), 0)) { _ in false }
            return false
        }
    }

    /// How long the writing thread waits for the cluster log before it looks for other work.
    private static let waitInterval = Duration.milliseconds(200)

    private func asked() throws -> PostgresSequencer {
        if let connected { return connected }
        let made = try sequencer()
        connected = made
        return made
    }

    // MARK: Adding

    func place(
        _ change: OrderedChange, _ blocks: BlockBatch, _ transaction: borrowing ReadTransaction, by deadline: Instant
    ) throws -> Placement {
        let node = try node(transaction, isLeaving: change.isLeaving)
        // After a power cut the log may be ahead of the node's row: then its frames are taken in first, and their blocks skipped.
        guard change.first == node.last.next else { return .unplaced(.behind) }
        let rows = SharedRows.encoded(change.shared)
        let frame = blocks.lend { ClusterFrame.encoded(after: node.end, change.last, rows: rows.lent, blocks: $0) }
        try frame.checkSize()
        // An update that runs again has added its frame already.
        if added?.bytes != frame.bytes {
            do { try asked().connection.connect(by: .now + Self.waitInterval) } catch let error as EvstoreError {
                // A caller that waits for PostgreSQL does so without the writer's turn.
                if case .logUnavailable = error, .now < deadline { return .unplaced(.unreachable) }
                throw error
            }
            guard try asked().add(frame, after: node.end, by: deadline) else { return .unplaced(.behind) }
            added = frame
            hasAdded = true
        }
        return .placed(StateRows.Node(membership: node.membership, end: frame.end, last: change.last.position))
    }

    /// Whether the cluster log is on another server than the one in the node's rows.
    var hasRows: Bool { fence.unsaved != nil }

    func putRows(_ transaction: inout WriteTransaction) throws {
        saving = fence.unsaved
        if let saving { try StateRows.put(saving, &transaction, access.tables) }
    }

    func isBehind(_ transaction: borrowing ReadTransaction, last: Position?, by deadline: Instant) throws -> Bool {
        let node = try node(transaction)
        if try !asked().isEnd(node.end, by: deadline) { return true }
        try node.requireNoMore(than: last ?? node.last)
        return false
    }

    /// - Throws: `EvstoreError.clusterMismatch` where this store is no longer a node.
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

    /// The time of each page behind the first.
    private static let pageInterval = Duration.seconds(5)
    /// The least time of the first page, for a caller that has waited for its turn.
    private static let firstInterval = Duration.seconds(1)

    /// Takes in the missing frames page by page.
    func takeIn(_ session: inout CommitSession, _ turn: WriteTurn, by deadline: Instant) throws {
        let pages = FramePages(try asked())
        defer { pages.end() }
        var interval = Self.firstInterval
        while var (node, last) = try nodeEnd() {
            // If there is much to take in, each page gets its own time; a server that says nothing gets no more than the caller has.
            let page = try pages.page(
                after: node.end, at: last, by: max(deadline, .now + interval), isLast: .now >= deadline)
            interval = Self.pageInterval
            try saveServer(&session, turn)
            if page.frames.isEmpty { return try node.requireNoMore(than: last) }
            var rest = page.frames[...]
            while !rest.isEmpty {
                // A frame that may be a cut comes alone: what it takes off is kept first, and so must have been committed.
                let next = rest.prefix { !ClusterFrame.mayCut($0) }
                (node, last) = try takeIn(next.isEmpty ? rest.prefix(1) : next, node, &session, turn)
                rest = rest.dropFirst(max(next.count, 1))
            }
            try session.sweepTakenIn(turn)
            // After another page there may be more by now.
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

    /// Takes in frames in one transaction: a frame that may be a cut alone, others together.
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

    // The follower is released: it holds the committer, which holds this object.
    func end(waiting: Bool) { follower.withLock { $0.take() }?.end(waiting: waiting) }
    func reportNow() { follower.withLock { $0 }?.reportNow() }

    func finish() {
        // The connection is closed here, since the closed log may be kept for long.
        defer { connected = nil }
        // Reported here for programs that soon close the node again, whose follower may not have reported yet. Nothing depends on it.
        guard hasAdded, trouble == nil, let connected else { return }
        do {
            let report = try access.environment.read { try NodeReport.now(membership, $0, access).report }
            // Order: this disk has the frames durably before it is reported, since frames that every node has are pruned.
            try access.makeDurable(at: context.path)
            _ = try connected.report(report, mayTakeOver: false, by: .now + Self.reportInterval)
        } catch {
            context.logger.debug("telling the cluster log how far this node is", metadata: ["error": .stringConvertible(error.advised)])
        }
    }

    private static let reportInterval = Duration.seconds(1)
}

/// A node's report about itself, apart from the frames.
struct NodeReport: Hashable, Sendable {
    var live: SchemaVersion
    var position: Position
    var frame: UInt64
    /// The nodes as of that frame, by name.
    var nodes: [String]
    /// Tells the directory from its copies: the store's incarnation of the node's name, a hyphen, and a digest of where the directory is.
    var claim: String
}

extension NodeReport {
    static func now(
        _ membership: ClusterMembership, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> (node: StateRows.Node?, end: ClusterLogEnd, report: NodeReport) {
        let node = try StateRows.node(transaction, access.tables)
        let end = node?.end ?? .start
        let live = try StateRows.numbers(transaction, access.tables).stamp.live
        let nodes = try Rows.all(NodeRow.prefix, transaction, access.tables[.notes]).compactMap { NodeRow($0.key, $0.value) }
        // Another store may have replaced this one.
        let isMember = nodes.contains { $0.name == membership.node && $0.incarnation == membership.incarnation }
        let position = try Blocks.last(transaction, access)
        let report = NodeReport(
            live: live, position: position, frame: end.number, nodes: isMember ? nodes.map(\.name) : [],
            claim: try claim(membership, access))
        return (node, end, report)
    }

    /// The claim of this directory: a copy of it has other files, or is on another machine.
    private static func claim(_ membership: ClusterMembership, _ access: LogAccess) throws -> String {
        let inode = try Directory.status(access.environment.directory + "/data.mdb")?.inode ?? 0
        let place = SHA256Hasher.hash(membership.incarnation + Array(ProcessIdentity.machine.utf8) + bytes(inode))
        return hex(membership.incarnation) + "-" + hex(Array(place.bytes.prefix(16)))
    }
}
