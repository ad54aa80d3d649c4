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
        try Cluster.checkNode(node)
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
                    try log.acquireExclusively(what: "removes it")
                    try EventLog.discard(path, keepsDirectory: place == .directory)
                }
            } catch { log.warn("what was made at \(path) is no node and could not be removed: \(error)") }
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
        if let node { try Cluster.checkNode(node) }
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
    /// afterwards. For a copy of a node's directory, only the copy leaves: the node stays in its cluster log.
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
                if log.hasTwin {
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
                        log.warn("\(membership.log) may still list the node \(membership.node): \(error)")
                    }
                }
                try log.settleLayout()
                _ = try ConnectionFile.remove(at: path)
            } catch { throw EvstoreError(converting: error, at: path, doing: "leaving \(membership.log)") }
        }
    }
}
