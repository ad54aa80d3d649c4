internal import Bytes
internal import EventModel
internal import LMDB

/// The commits of a node of a cluster log. A store that is alone skips all of this.
extension CommitSession {
    /// Makes one commit like `commit`. If other nodes were first, it takes in their commits and makes its own anew.
    mutating func commit(in order: any CommitOrder, _ queue: CommitQueue, _ takeTurn: () throws -> WriteTurn?) -> Committed {
        var batch: CommitQueue.Batch?
        defer { order.settle() }
        do {
            let isCutOff = queue.needsCluster && !order.isReachable()
            // Work that needs the cluster log stays in the queue, where its deadline applies; other work goes on.
            if isCutOff, !queue.hasLocal { return .nothing }
            guard let turn = try takeTurn() else { return .nothing }
            defer { withExtendedLifetime(turn) {} }
            try begin(turn)
            batch = isCutOff ? queue.takeLocal() : queue.take(options)
            return try committed(&batch, order, queue, turn, isJoined: !isCutOff)
        } catch {
            left = nil
            return .failed(batch, order.settle() ? madeElsewhere(error) : error)
        }
    }

    private mutating func committed(
        _ batch: inout CommitQueue.Batch?, _ order: any CommitOrder, _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Committed {
        while true {
            let attempt = try attempt(&batch, queue, turn, isJoined: isJoined)
            guard let work = batch else { return .nothing }
            switch attempt {
            case .nothing: return .nothing
            case .made(let done): return .made(work, done)
            case .behind:
                try order.takeIn(&self, turn, by: work.deadline)
                if case .update(let update) = work, update.body == nil { return .made(work, try takenIn()) }
            case .cut:
                // The cut has its place: if this node can't make it now, it does so later.
                try order.takeIn(&self, turn, by: work.deadline)
                return .made(work, try takenIn())
            case .unreachable:
                queue.putBack(work)
                return .nothing
            }
        }
    }

    /// Refuses to commit as a store that is alone if the store has become a node since it was opened.
    func requireAlone(_ transaction: borrowing ReadTransaction) throws {
        guard order == nil, let node = try StateRows.node(transaction, access.tables) else { return }
        throw EvstoreError.clusterMismatch(
            log: node.membership.log, reason: "it has become the node \(node.membership.node) since it was opened", how: "open it again")
    }

    /// Gives the additions of these appends their place in the cluster log.
    func place(_ appends: [CommitQueue.Append], _ admitted: borrowing Admission) throws -> Placement {
        guard let order else { return .placed(nil) }
        let deadline = CommitQueue.Batch.appends(appends).deadline
        let change = OrderedChange(rows: admitted.sharedRows, first: admitted.first, last: admitted.last)
        return try access.environment.read { try order.place(change, blocks, $0, by: deadline) }
    }

    /// Gives the changes of an update their place in the cluster log, if any of them is shared by all nodes.
    func place(_ changes: inout LogUpdate, _ done: CommitResult, _ update: CommitQueue.Update) throws -> Placement {
        if changes.becomesAlone { try changes.becomeAlone() }
        guard let order, !changes.becomesAlone, let rows = changes.shared else { return .placed(nil) }
        let first = (changes.endBeforeCut ?? done.last.position).next
        let change = OrderedChange(rows: rows, first: first, last: done.last, isLeaving: changes.isLeaving)
        try blocks.read(from: first, changes.transaction.reads)
        let placing = try order.place(change, blocks, changes.transaction.reads, by: update.deadline)
        guard case .placed(let node) = placing else { return placing }
        if changes.endBeforeCut != nil { return .cut }
        try order.putRows(&changes.transaction)
        if let node { try StateRows.put(node, &changes.transaction, access.tables) }
        if changes.isLeaving { try changes.becomeAlone() }
        return placing
    }

    /// Whether all these appends may have been refused because this node's state is older than the cluster log's.
    func isBehind(_ outcomes: [Result<AppendOutcome, any Error>], _ appends: [CommitQueue.Append]) throws -> Bool {
        guard let order, outcomes.contains(where: \.isRefused) else { return false }
        return try access.environment.read { transaction in
            let last = try Blocks.last(transaction, access)
            return try order.isBehind(transaction, last: last, by: CommitQueue.Batch.appends(appends).deadline)
        }
    }

    /// Whether an update may have been refused because this node's state is older than that of another node.
    func isBehind(after error: any Error, _ changes: borrowing LogUpdate, _ update: CommitQueue.Update) -> Bool {
        guard let order, error is EvstoreError else { return false }
        let deadline = min(update.deadline, .now + Self.askInterval)
        // The reason for the refusal says more than the error of asking the cluster log.
        do { return try order.isBehind(changes.transaction.reads, last: nil, by: deadline) } catch { return false }
    }

    /// The state of the log after everything in the cluster log was taken in.
    private func takenIn() throws -> CommitResult {
        try access.environment.read { CommitResult(last: try Blocks.end($0, access), link: try Blocks.endLink($0, access)) }
    }

    /// How long a refused update may ask whether this state was the newest, while it has LMDB's lock.
    private static let askInterval = Duration.seconds(1)
}

extension Result where Success == AppendOutcome, Failure == any Error {
    /// Whether the append was refused because of a state that another node may have changed.
    fileprivate var isRefused: Bool {
        guard case .failure(let error) = self else { return false }
        return if case EvstoreError.expectationFailed = error { true } else { false }
    }
}
