internal import Bytes
internal import ClusterLog
internal import EventLog
public import EventModel
public import Evstore
internal import Hashing
public import Logging
internal import Migration
internal import Platform
internal import Projections

extension StoreMaintenance {
    /// Creates a store that is a node of a cluster log, with all of its events, at the cluster's top version.
    ///
    /// Waits while every frame of the cluster log is read, the indexes are built and everything is checked, on the store's own threads. If
    /// the path holds a replica (`follow`) of the store that the cluster log was made from, the replica becomes the node, and takes in only
    /// the frames behind its end.
    /// - Parameter replacing: whether this node takes the place of an existing one of this name, whose machine or disk was lost.
    /// - Throws: `EvstoreError`: storeExists; usage where the name is taken, or the cluster log does not exist; logUnavailable,
    ///   clusterMismatch, clusterDamaged, unsafePermissions, unsafeFileSystem, diskFull, interrupted.
    public static func join(
        _ cluster: Cluster, as node: String, into path: String, replacing: Bool = false, options: Options = .init(), logger: Logger? = nil,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) {
        try Cluster.check(node, "a node")
        if options.secret != nil {
            throw .usage(
                "a node can't be sealed, since its keys would have to travel in the cluster log",
                fix: "join without a key, and encrypt the disks and the database")
        }
        try await working("join", progress) { (job) async throws(EvstoreError) in
            do {
                try cluster.requireOneServer()
                let (database, new) = (cluster.database(), NewNode(node, isReplacing: replacing))
                func report(_ done: UInt64, _ total: UInt64) throws { try job.advance("join", done: done, total: total) }
                let isReplica = try EventLog.isReplica(at: path)
                // A join that was killed near its end has created the store, which is not a member yet.
                let isUnfinished = try !isReplica && EventLog.isUnfinishedNode(at: path, node, of: cluster.name)
                let place: JoiningPlace = try isReplica || isUnfinished ? .store : Directory.status(path) == nil ? .free : .directory
                if isReplica {
                    try await EventLog.join(database, as: new, replica: path, options: options, progress: report)
                } else if !isUnfinished {
                    try EventLog.join(database, as: node, at: path, options: options, progress: report)
                }
                try await becomeMember(new, at: path, which: place, options, logger)
            } catch { throw EvstoreError(converting: error, at: path, doing: "joining \(cluster.name)") }
        }
    }

    /// What was at the path before a join.
    private enum JoiningPlace { case free, directory, store }

    private static func becomeMember(
        _ node: NewNode, at path: String, which place: JoiningPlace, _ options: Options, _ logger: Logger?
    ) async throws {
        var options = options
        options.ordering = PostgresOrdering(program: "")
        let log = try EventLog.open(at: path, options: options, logger: logger, judging: RegisteredRows.judge)
        do {
            try await log.join { nodes in
                if !node.isReplacing, nodes.contains(where: { $0.name == node.name }) { throw EvstoreError.nodeTaken(node.name) }
            }
            try await log.takeInFrames()
            log.reportNode()
        } catch {
            // A join is atomic: a store whose name is taken is removed, but what was at the path before stays.
            let refusal = error
            do {
                // Order: the store is removed while only this process has it open.
                if case EvstoreError.usage = refusal, place != .store {
                    log.stopFollowing()
                    try log.acquireExclusively(what: "removes it")
                    try EventLog.discard(path, keepsDirectory: place == .directory)
                }
            } catch { log.warn("what was made at \(path) is no node and could not be removed", error) }
            try await log.close()
            throw refusal
        }
        try await log.close()
    }

    /// Creates a cluster log from this store's events, and makes the store its first node. Nobody else may have the store open.
    ///
    /// Waits while all events are copied to PostgreSQL, on the store's own threads. A copy that was interrupted starts anew.
    /// - Parameter node: the name of the node; where nil, only the events are copied, and this store stays as it is.
    /// - Throws: `EvstoreError`: usage where a cluster log of this name exists, or the store is a node or sealed; locked, logUnavailable,
    ///   interrupted.
    public func copy(
        to cluster: Cluster, as node: String?, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) {
        if let node { try Cluster.check(node, "a node") }
        try await working("copy \(path) to \(cluster.name)", progress) { (job) async throws(EvstoreError) in
            do {
                _ = try await log.copy(to: cluster.database(), as: node) { done, total in
                    try job.advance("copy", done: done, total: total)
                }
            } catch { throw EvstoreError(converting: error, at: path, doing: "copying \(path) to \(cluster.name)") }
        }
    }
}

extension EventStore {
    /// The cluster log that the store belongs to, and its node there; nil where it belongs to none.
    public var clusterNode: (log: String, node: String)? { log.membership.map { ($0.log, $0.node) } }

    /// Takes in everything that the cluster log has and this node lacks: afterwards this node sees every append that was acknowledged
    /// anywhere before the call. Does nothing where the store belongs to no cluster log.
    /// - Throws: `EvstoreError`: logUnavailable, clusterWentBack, clusterDamaged, clusterMismatch.
    public func catchUp() async throws(EvstoreError) {
        try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                try await log.takeInFrames()
                log.reportNode()
            } catch { throw EvstoreError(converting: error, at: path, doing: "following the cluster log") }
        }
    }
}

extension StoreMaintenance {
    /// Takes the store out of its cluster log: it keeps all events, and continues alone, in an epoch of its own. Close and open it
    /// afterwards, also where this throws: it follows the cluster log no more. For a copy of a node's directory, only the copy leaves: the
    /// node stays in its cluster log.
    /// - Throws: `EvstoreError`: usage where it belongs to none, locked, logUnavailable.
    public func leave() async throws(EvstoreError) {
        guard let membership = log.membership else {
            // A `leave` that was killed near its end has left this file.
            if try converting(at: path, { try ConnectionFile.remove(at: path) }) { return }
            throw .usage("\(path) belongs to no cluster log")
        }
        try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                try log.acquireExclusively(what: "leaves its cluster log")
                defer { log.shareAgain() }
                log.reportNode()
                log.stopFollowing()
                if log.nodeHealth.hasTwin {
                    try await log.leaveToTwin()
                    log.warn("another directory speaks as \(membership.node), which stays in \(membership.log): this one leaves alone")
                } else {
                    let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                    // Order: the cluster forgets the node first. A node that fails to leave reports itself again; one that has left can't
                    // be told to.
                    try database.forget(node: membership.node)
                    try await log.update { update in try update.removeNode(membership.node) }
                    // It may have reported itself in between.
                    do { try database.forget(node: membership.node) } catch {
                        log.warn("\(membership.log) may still list the node \(membership.node)", error)
                    }
                }
                try log.settleLayout()
                _ = try ConnectionFile.remove(at: path)
            } catch { throw EvstoreError(converting: error, at: path, doing: "leaving \(membership.log)") }
        }
    }
}

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
    ///   clusterWentBack, clusterDamaged, clusterMismatch, diskFull, locked where another process prunes the cluster log, interrupted.
    public func pruneFrames(
        backingUpInto directory: String, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> PruneReport {
        guard let membership = log.membership else { throw .usage("\(path) belongs to no cluster log") }
        return try await working("prune", progress) { (job) async throws(EvstoreError) in
            do {
                // Order: this node must know all nodes before it removes frames.
                try await log.takeInFrames()
                log.reportNode()
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                let pruned = try database.readyRow().pruned
                let made = try await backUp(into: directory, progress: progress)
                let runs = try await StoreMaintenance.verifyBackups(in: directory, progress: progress)
                if let damage = runs.last?.damage { throw EvstoreError.backupDamaged(path: directory, reason: damage) }
                let nodes = try log.read { try $0.nodes() }.map(\.name)
                return try database.prune(
                    nodes, having: Checkpoint(epoch: made.epoch, position: made.position), membership, from: pruned
                ) { done, total in try job.advance("prune", done: done, total: total) }
            } catch { throw EvstoreError(converting: error, at: path, doing: "pruning \(membership.log)") }
        }
    }
}

extension ClusterDatabase {
    fileprivate func prune(
        _ nodes: [String], having backup: Checkpoint, _ membership: ClusterMembership, from pruned: UInt64,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws -> PruneReport {
        let row = try readyRow()
        // What others have removed meanwhile may be all that this backup has.
        guard row.pruned == pruned else { throw EvstoreError.prunedByOthers(log) }
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

/// The events that a node has and its cluster log lacks.
public struct RescueReport: Sendable {
    /// The last position that both have.
    public var common: Position
    /// The last position of this node.
    public var last: Position
    /// The number of events behind the common ones, which were exported.
    public var events: UInt64 { last.events(after: common) }
}

extension StoreMaintenance {
    /// Calls `body` with the lines of the events that this node has and the cluster log lacks, after the cluster log was set back by a
    /// failover to a standby that was behind. Changes nothing. An import of the lines into the cluster appends each of them once.
    ///
    /// Waits for PostgreSQL and for reading the events; `body` is called on one of the store's threads.
    /// - Throws: `EvstoreError`: usage where the store belongs to no cluster log, logUnavailable; or what `body` throws, unconverted.
    public func rescue(_ body: (_ lines: [UInt8]) throws -> Bool) async throws -> RescueReport {
        guard let membership = log.membership else { throw EvstoreError.usage("\(path) belongs to no cluster log") }
        let report = try await working("rescue") { (job) throws(EvstoreError) in
            try converting(at: path) {
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                let (row, last) = (try database.readyRow(), try log.read { $0.last.position })
                return RescueReport(common: try commonEnd(database, row, job), last: last)
            }
        }
        if report.common < report.last { try await store.export(from: report.common.next, body) }
        return report
    }

    /// The last position at which a frame ends whose block this node has, too: in the newest epoch that has such a frame.
    private func commonEnd(_ database: ClusterDatabase, _ row: ClusterRow, _ job: Job) throws -> Position {
        var epoch = try log.read { $0.last.epoch }
        while let frames = try database.frames(upTo: epoch, of: row) {
            let common = try commonEnd(database, frames.numbers, job)
            if common > .start || frames.epoch == .first { return common }
            epoch = frames.epoch.previous
        }
        return .start
    }

    /// The last common position within the frames of one epoch, by binary search: what is common in an epoch is its beginning.
    private func commonEnd(_ database: ClusterDatabase, _ numbers: ClosedRange<UInt64>, _ job: Job) throws -> Position {
        var (low, high) = (numbers.lowerBound - 1, numbers.upperBound)
        var common = Position.start
        while low < high {
            try job.check()
            let middle = (low + high + 1) / 2
            if let end = try ownedEnd(database, middle, from: numbers.lowerBound) {
                (low, common) = (middle, end)
            } else {
                high = middle - 1
            }
        }
        return common
    }

    /// The last position of a frame if this node has the same block there; nil if it has another. A frame without blocks is judged by the
    /// newest one before it that has some, or by the cut that began its epoch.
    private func ownedEnd(_ database: ClusterDatabase, _ number: UInt64, from first: UInt64) throws -> Position? {
        var number = number
        while true {
            guard let frame = try database.blockEnd(ofFrame: number) else { return nil }
            if let link = frame.link { return try log.read { try $0.blockEnd(at: frame.last) } == link ? frame.last : nil }
            if number > first {
                number -= 1
                continue
            }
            let isOwn = try frame.last == .start || isOwnCut(at: frame.last)
            return isOwn ? frame.last : nil
        }
    }

    /// Whether this node has a cut at a position, and none below it since.
    private func isOwnCut(at position: Position) throws -> Bool {
        let cuts = try log.read { try $0.cuts() }
        guard let own = cuts.last(where: { $0.position == position }) else { return false }
        return !cuts.contains { $0.epoch > own.epoch && $0.position < position }
    }
}
