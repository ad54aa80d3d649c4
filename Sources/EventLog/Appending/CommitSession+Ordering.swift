internal import Bytes
internal import EventModel
internal import LMDB

/// What a node of a cluster log does around a commit; of a store that is alone, nothing.
extension CommitSession {
    /// Makes one commit as `commit` does. Where other nodes were first, it takes their commits in, and makes it anew.
    mutating func commit(in order: any CommitOrder, _ queue: CommitQueue, _ takeTurn: () throws -> WriteTurn?) -> Committed {
        var batch: CommitQueue.Batch?
        defer { order.settle() }
        do {
            let isCutOff = queue.needsCluster && !order.isReachable()
            // What needs the cluster log stays in the queue, where it has its deadline; the rest goes on.
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
                // The cut stands: where it can't be made now, this node makes it when it can.
                try order.takeIn(&self, turn, by: work.deadline)
                return .made(work, try takenIn())
            case .unreachable:
                queue.putBack(work)
                return .nothing
            }
        }
    }

    /// Refuses to commit as a store that is alone where the store has become a node since it was opened.
    func requireAlone(_ transaction: borrowing ReadTransaction) throws {
        guard order == nil, let node = try StateRows.node(transaction, access.tables) else { return }
        throw EvstoreError.clusterMismatch(
            log: node.membership.log, reason: "it has become the node \(node.membership.node) since it was opened", how: "open it again")
    }

    /// Gives what the appends have added its place in the cluster log.
    func place(_ appends: [CommitQueue.Append], _ admitted: borrowing Admitted) throws -> Placing {
        guard let order else { return .placed(nil) }
        let deadline = CommitQueue.Batch.appends(appends).deadline
        let change = OrderedChange(rows: admitted.rows.shared, first: admitted.admission.first, last: admitted.last)
        return try access.environment.read { try order.place(change, blocks, $0, by: deadline) }
    }

    /// Gives what an update has changed its place in the cluster log, where any of it is the cluster's.
    func place(_ changes: inout LogUpdate, _ done: Done, _ update: CommitQueue.Update) throws -> Placing {
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

    /// Whether appends which were all refused were judged by an older state than the newest that the cluster log has.
    func isBehind(_ outcomes: [Result<AppendOutcome, any Error>], _ appends: [CommitQueue.Append]) throws -> Bool {
        guard let order, outcomes.contains(where: \.isRefused) else { return false }
        return try access.environment.read { transaction in
            let last = try Blocks.last(transaction, access)
            return try order.isBehind(transaction, last: last, by: CommitQueue.Batch.appends(appends).deadline)
        }
    }

    /// Whether an update may have been refused by another node's older state.
    func isBehind(after error: any Error, _ changes: borrowing LogUpdate, _ update: CommitQueue.Update) -> Bool {
        guard let order, error is EvstoreError else { return false }
        let deadline = min(update.deadline, .now + Self.askInterval)
        // What it was refused for says more than why nobody can be asked.
        do { return try order.isBehind(changes.transaction.reads, last: nil, by: deadline) } catch { return false }
    }

    /// How the log is once all was taken in that the cluster log had.
    private func takenIn() throws -> Done {
        try access.environment.read { Done(last: try Blocks.end($0, access), link: try Blocks.endLink($0, access)) }
    }

    /// How long an update that was refused may ask whether the state was the newest, while it has LMDB's lock.
    private static let askInterval = Duration.seconds(1)
}

extension Result where Success == AppendOutcome, Failure == any Error {
    /// Whether the append was refused for a state that another node may have changed.
    fileprivate var isRefused: Bool {
        guard case .failure(let error) = self else { return false }
        return if case EvstoreError.expectationFailed = error { true } else { false }
    }
}
