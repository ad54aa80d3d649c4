package import EventLog
package import EventModel
internal import LMDB
internal import Platform

/// A future node of a cluster log.
package struct NewNode: Sendable {
    package var name: String
    /// Whether it replaces another store that has had the name.
    package var isReplacing: Bool

    package init(_ name: String, isReplacing: Bool) { (self.name, self.isReplacing) = (name, isReplacing) }
}

extension LogAccess {
    /// Takes in all frames of the cluster log after `end`, page by page; returns where they end.
    /// - Parameter progress: gets the last position after each page; an error that it throws ends the work.
    /// - Parameter checksLinks: false where the whole log is verified afterwards.
    fileprivate func takeIn(
        from pages: FramePages, after end: ClusterLogEnd, at position: Position, checksLinks: Bool,
        _ progress: (Position) throws -> Void
    ) throws -> (end: ClusterLogEnd, last: Position) {
        var (end, last) = (end, position)
        defer { pages.end() }
        while true {
            let page = try pages.page(after: end, at: last)
            if page.frames.isEmpty { return (end, last) }
            (end, last) = try takeIn(page.frames, checksLinks: checksLinks, judge: pages.judge)
            try progress(last)
        }
    }
}

extension EventLog {
    /// Makes a store that is a node of a cluster log, with all of its events: completely at its path, or not at all.
    /// - Parameter progress: gets the last position that was taken in, and that of the cluster log; an error that it throws ends the work.
    /// - Throws: `EvstoreError`: storeExists, logUnavailable, clusterDamaged, clusterMismatch, usage where a node of this name exists.
    package static func join(
        _ database: ClusterDatabase, as node: String, at store: String, options: Options,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws {
        let row = try database.readyRow()
        guard let storeID = StoreID(row.store) else {
            throw EvstoreError.clusterDamaged(log: database.log, frame: 0, reason: "its row is invalid")
        }
        let membership = ClusterMembership(log: database.log, id: row.id, node: node)
        let pages = database.pages(of: membership, options)
        try make(at: store, options) { made in
            let builder = try LogBuilder(at: made, storeID, options, nil)
            defer { builder.close() }
            try builder.become(membership)
            let (end, last) = try builder.access.takeIn(from: pages, after: .start, at: .start, checksLinks: false) { last in
                try progress(last.rawValue, max(row.last.position, last).rawValue)
            }
            if let finding = try builder.complete({ try progress(last.rawValue, last.rawValue) }) {
                throw EvstoreError.clusterDamaged(log: database.log, frame: end.number, reason: finding.reason)
            }
            try ConnectionFile.write(database.conninfo, at: made)
            try Manifest.set(isOrderedElsewhere: true, at: made)
        }
    }

    /// Makes a replica of the cluster's store a node, and takes in the frames after the replica's end.
    /// - Throws: `EvstoreError`: usage where it is a replica of another store, or the name is taken; clusterWentBack where the cluster log
    ///   ends before the replica; locked, logUnavailable, clusterDamaged.
    package static func join(
        _ database: ClusterDatabase, as node: NewNode, replica: String, options: Options,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) async throws {
        let row = try database.readyRow()
        let log = try EventLog.open(at: replica, options: options)
        do {
            guard row.store == log.storeID.bytes else {
                throw EvstoreError.usage(
                    "\(replica) is a replica of another store than the one that the cluster log \(database.log) is made of",
                    fix: "name a directory where nothing is yet")
            }
            if !node.isReplacing, try log.hasNode(node.name) { throw EvstoreError.nodeTaken(node.name) }
            try log.acquireExclusively(what: "becomes a node")
            let membership = ClusterMembership(log: database.log, id: row.id, node: node.name)
            let seen = try log.read { $0.last }
            let pages = database.pages(of: membership, options)
            let (before, last) = try database.end(before: seen, row)
            try ConnectionFile.write(database.conninfo, at: replica)
            try await log.update { update in try update.become(membership, behind: before, last) }
            _ = try log.access.takeIn(from: pages, after: before, at: seen.position, checksLinks: true) { last in
                try progress(last.rawValue, max(row.last.position, last).rawValue)
            }
        } catch {
            try await log.close()
            throw error
        }
        try await log.close()
    }

    /// Gives all events of a store to a new cluster log, and makes the store its first node.
    /// - Parameter node: nil only gives the events, and leaves the store as it is.
    /// - Throws: `EvstoreError`: usage where a cluster log of this name exists, or the store is a node or sealed; locked; logUnavailable.
    package func copy(
        to database: ClusterDatabase, as node: String?, progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) async throws {
        if let membership {
            // A copy was killed near its end: the events are there, and no node can join yet.
            guard membership.log == database.log, let row = try database.row(), row.id == membership.id, !row.isReady else {
                throw EvstoreError.usage("\(path) is a node of a cluster log already", fix: "leave that one first")
            }
            try database.finish(membership.id)
            return
        }
        if keyFile != nil {
            throw EvstoreError.usage(
                "\(path) is sealed, and the keys of a sealed store do not travel in a cluster log",
                fix: "export its events into a store that is not sealed, and encrypt the disks and the database")
        }
        try acquireExclusively(what: "is being copied to a cluster log")
        defer { shareAgain() }
        try await copyAlone(to: database, as: node, progress: progress)
    }

    private func copyAlone(
        to database: ClusterDatabase, as node: String?, progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) async throws {
        let (last, live) = try read { reader in (reader.last, reader.stamp.live) }
        let membership = try database.begin(store: storeID.bytes, node: node ?? "")
        let sequencer = PostgresSequencer(membership, database.conninfo, program: "")
        var before = ClusterLogEnd.start
        let given = try frames(node: node.map { _ in NodeRow(membership, live: live) }) { frame in
            guard try sequencer.add(frame, after: before, by: .within(options.appendDeadline)) else {
                throw EvstoreError.clusterMismatch(
                    log: database.log, reason: "another program writes to it", how: "choose another name")
            }
            before = frame.end
            try progress(frame.last.position.rawValue, last.position.rawValue)
        }
        if node != nil {
            try ConnectionFile.write(database.conninfo, at: path)
            // Order: set before the store becomes a node, so that no older program opens it from then on.
            try Manifest.set(isOrderedElsewhere: true, at: path)
            // Order: the store becomes a node before others can join, since otherwise it could append events that they would lack.
            try await update { update in try update.become(membership, having: given) }
        }
        try database.finish(membership.id)
    }
}

extension ClusterDatabase {
    /// The frames, for a future node.
    fileprivate func pages(of membership: ClusterMembership, _ options: Options) -> FramePages {
        FramePages(PostgresSequencer(membership, conninfo, program: ""), patience: options.appendDeadline.bounded, judge: judge)
    }
}

extension Finding {
    /// The finding of a check of the whole log, made after its last frame.
    fileprivate var reason: String {
        "the log that its frames make is damaged\(position.map { " at position \($0)" } ?? ""): \(id) \(message)"
    }
}
