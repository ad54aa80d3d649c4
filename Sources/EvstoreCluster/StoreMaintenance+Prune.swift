internal import Bytes
internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import Platform
internal import Projections

/// The frames of a cluster log that a call has removed.
public struct PruneReport: Sendable {
    /// The last frame that is gone; 0 where all frames are there.
    public var through: UInt64
    /// The number of frames that this call has removed.
    public var removed: UInt64
    /// The number of frames that are left.
    public var left: UInt64
    /// The names of the nodes that need the first of these frames; empty where it is the end of the backup.
    public var neededBy: [String]
}

extension StoreMaintenance {
    /// Backs this node up into a directory, reads the backup back, and removes the frames of its cluster log that the backup and every node
    /// have. From then on, a new node starts as a replica of a backup (`follow`), and takes in the frames behind its end.
    ///
    /// Waits for the backup and for reading it back, then for the removal in steps between which appends continue, on the store's own
    /// threads. An interrupted call has removed a part of the frames.
    /// - Throws: `EvstoreError`: usage where the store belongs to no cluster log; otherBackup, backupDamaged; logUnavailable,
    ///   clusterWentBack, clusterDamaged, clusterMismatch, diskFull, interrupted.
    public func pruneFrames(
        backingUpInto directory: String, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> PruneReport {
        guard let membership = log.membership else { throw .usage("\(path) belongs to no cluster log") }
        return try await working("prune", progress) { (job) async throws(EvstoreError) in
            do {
                // Order: this node must know all nodes before it removes frames.
                try await log.takeInFrames()
                log.reportNode()
                let made = try await backUp(into: directory, progress: progress)
                let runs = try await StoreMaintenance.verifyBackups(in: directory, progress: progress)
                if let damage = runs.last?.damage { throw EvstoreError.backupDamaged(path: directory, reason: damage) }
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                let nodes = try log.read { try $0.nodes() }.map(\.name)
                return try database.prune(
                    nodes, having: Checkpoint(epoch: made.epoch, position: made.position), membership
                ) { done, total in try job.advance("prune", done: done, total: total) }
            } catch { throw EvstoreError(converting: error, at: path, doing: "pruning \(membership.log)") }
        }
    }
}

extension ClusterDatabase {
    fileprivate func prune(
        _ nodes: [String], having backup: Checkpoint, _ membership: ClusterMembership,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws -> PruneReport {
        let row = try readyRow()
        // The last frame that all nodes have stays: the following frames are verified by it.
        let backed = try end(before: backup, row).end.number
        let reported = Dictionary(try self.nodes().map { ($0.name, $0.frame) }) { a, _ in a }
        let having = nodes.map { (name: $0, frame: reported[$0] ?? 0) }
        let first = min(backed, having.map(\.frame).min() ?? backed)
        let wanted = max(first.minus(1), row.pruned)
        let through = try pruneFrames(of: membership.id, from: row.pruned, through: wanted, progress)
        return PruneReport(
            through: through, removed: through.minus(row.pruned), left: row.end.number.minus(through),
            neededBy: having.filter { $0.frame == first && first < backed }.map(\.name))
    }
}
