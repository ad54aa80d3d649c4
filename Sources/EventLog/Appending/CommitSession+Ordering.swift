internal import Bytes
internal import EventModel
internal import LMDB

/// What a node of a cluster log does beside a commit; of a store that is alone, nothing.
extension CommitSession {
    /// Refuses to commit as a store that is alone where the store has become a node since it was opened.
    func requireAlone(_ transaction: borrowing ReadTransaction) throws {
        guard order == nil, let node = try StateRows.node(transaction, access.tables) else { return }
        throw EvstoreError.clusterMismatch(
            log: node.membership.log, reason: "it has become the node \(node.membership.node) since it was opened", how: "open it again")
    }

    /// Gives what the appends have added its place in the cluster log.
    func place(_ appends: [CommitQueue.Append], _ done: Done, _ admitted: borrowing Admitted) throws -> Placing {
        guard let order else { return .placed(nil) }
        let deadline = CommitQueue.Batch.appends(appends).deadline
        let change = NodeOrder.Change(rows: admitted.rows.shared, first: admitted.admission.first, last: done.last)
        return try access.environment.read { try order.place(change, blocks, $0, access, by: deadline) }
    }

    /// Gives what an update has changed its place in the cluster log, where any of it is the cluster's.
    func place(_ changes: inout LogUpdate, _ done: Done, _ update: CommitQueue.Update) throws -> Placing {
        if changes.becomesAlone { try changes.becomeAlone() }
        guard let order, !changes.becomesAlone, let rows = changes.shared else { return .placed(nil) }
        let first = (changes.endBeforeCut ?? done.last.position).next
        let change = NodeOrder.Change(rows: rows, first: first, last: done.last, isLeaving: changes.isLeaving)
        try blocks.read(from: first, changes.transaction.reads)
        let placing = try order.place(change, blocks, changes.transaction.reads, access, by: update.deadline)
        guard case .placed(let node) = placing else { return placing }
        if changes.endBeforeCut != nil { return .cut }
        try order.saveServer(&changes.transaction, access)
        if let node { try StateRows.put(node, &changes.transaction, access.tables) }
        if changes.isLeaving { try changes.becomeAlone() }
        return placing
    }

    /// Whether appends which were all refused were judged by an older state than the newest that the cluster log has.
    func isBehind(_ outcomes: [Result<AppendOutcome, any Error>], _ appends: [CommitQueue.Append]) throws -> Bool {
        guard let order, outcomes.contains(where: \.isRefused) else { return false }
        return try access.environment.read { transaction in
            let last = try Blocks.last(transaction, access)
            return try order.isBehind(transaction, access, last: last, by: CommitQueue.Batch.appends(appends).deadline)
        }
    }

    /// Whether an update may have been refused by another node's older state.
    func isBehind(after error: any Error, _ changes: borrowing LogUpdate, _ update: CommitQueue.Update) -> Bool {
        guard let order, error is EvstoreError else { return false }
        let deadline = min(update.deadline, .now + Self.askInterval)
        // What it was refused for says more than why nobody can be asked.
        do { return try order.isBehind(changes.transaction.reads, access, last: nil, by: deadline) } catch { return false }
    }

    /// How the log is once all was taken in that the cluster log had.
    func takenIn() throws -> Done {
        try access.environment.read { transaction in
            let epoch = try StateRows.numbers(transaction, access.tables).epoch
            let last = Checkpoint(epoch: epoch, position: try Blocks.last(transaction, access))
            return Done(last: last, link: try Blocks.endLink(transaction, access))
        }
    }

    private static let pageInterval = Duration.seconds(5)
    /// How long an update that was refused may ask whether the state was the newest, while it has LMDB's lock.
    private static let askInterval = Duration.seconds(1)

    /// Takes in what the cluster log has and this node has not, page by page.
    mutating func takeIn(_ turn: WriteTurn, by deadline: ContinuousClock.Instant) throws {
        guard let order else { return }
        let pages = try order.pages()
        defer { pages.end() }
        while var (node, last) = try nodeEnd() {
            // A long way is gone page by page: each has its time.
            let page = try pages.page(
                after: node.end, at: last, by: max(deadline, .now + Self.pageInterval), isLast: .now >= deadline)
            try saveServer(turn)
            if page.frames.isEmpty { return try node.requireNoMore(than: last) }
            var rest = page.frames[...]
            while !rest.isEmpty {
                // What a cut takes off is kept before, and so has to be there.
                let next = rest.prefix { !ClusterFrame.mayCut($0) }
                (node, last) = try takeIn(next.isEmpty ? rest.prefix(1) : next, node, last, turn)
                rest = rest.dropFirst(max(next.count, 1))
            }
            try sweepTakenIn(turn)
            // Behind it there may be more by now.
            if page.isLast { return try node.requireNoMore(than: last) }
            if .now >= deadline {
                throw EvstoreError.logUnavailable(
                    log: node.membership.log, reason: "this node is still taking in what it has missed, and is at position \(last)")
            }
        }
    }

    /// Writes down that the cluster log is on another server now.
    private mutating func saveServer(_ turn: WriteTurn) throws {
        guard let fence = order?.fence, let server = fence.unsaved else { return }
        try write(turn) { session, transaction in
            var transaction = transaction
            try StateRows.put(server, &transaction, session.access.tables)
        }
        fence.noteSaved(server)
    }

    private func nodeEnd() throws -> (node: StateRows.Node, last: Position)? {
        try access.environment.read { transaction in
            try StateRows.node(transaction, access.tables).map { ($0, try Blocks.last(transaction, access)) }
        }
    }

    /// Takes in frames in one transaction: one that may ask for a cut alone, others together.
    private mutating func takeIn(
        _ frames: ArraySlice<[UInt8]>, _ node: StateRows.Node, _ last: Position, _ turn: WriteTurn
    ) throws -> (StateRows.Node, last: Position) {
        let journal = try frames.first.flatMap { try ClusterFrame.mayCut($0) ? keepTail($0, node) : nil }
        return try write(turn) { session, transaction in
            var transaction = transaction
            var taken = node
            let access = session.access
            for frame in frames {
                taken = try FrameIntake.run(frame.lent, taken, &transaction, access, journal: journal, judge: session.judge)
            }
            return (taken, try Blocks.last(transaction.reads, access))
        }
    }

    /// Has what a cut takes off this node kept; returns the row for its journal.
    private func keepTail(_ bytes: [UInt8], _ node: StateRows.Node) throws -> ((SchemaVersion) -> [UInt8])? {
        guard let tailKeeping else { return nil }
        do {
            let frame = try ClusterFrame(checking: bytes.lent, after: node.end)
            guard let cut = try frame.cut else { return nil }
            try access.environment.read { transaction in try cut.check(transaction, access) }
            guard frame.last == Checkpoint(epoch: cut.epoch, position: cut.position), frame.blocks.byteCount == 0 else { return nil }
            return try tailKeeping.keep(cut, through: takenIn().last)
        } catch is FrameDamage {
            // It is refused as it is taken in, and takes nothing off that had to be kept.
            return nil
        }
    }
}

extension Result where Success == AppendOutcome, Failure == any Error {
    /// Whether the append was refused for a state that another node may have changed.
    fileprivate var isRefused: Bool {
        guard case .failure(let error) = self else { return false }
        return if case EvstoreError.expectationFailed = error { true } else { false }
    }
}
