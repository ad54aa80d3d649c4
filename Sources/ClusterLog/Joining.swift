internal import Bytes
package import EventLog
package import EventModel
internal import LMDB
internal import Platform

package struct NewNode: Sendable {
    package var name: String
    /// Whether it replaces another store that has had the name.
    package var isReplacing: Bool

    package init(_ name: String, isReplacing: Bool) { (self.name, self.isReplacing) = (name, isReplacing) }
}

extension LogAccess {
    /// Takes in the frames that follow those it has; returns the end of the last one.
    /// - Parameters:
    ///   - checksLinks: see `FrameIntake.run`.
    ///   - judge: see `SharedRows.put`.
    /// - Throws: `EvstoreError`: clusterDamaged, storeNewer, schemaNewer.
    package func takeIn(
        _ frames: [[UInt8]], checksLinks: Bool = true, judge: CatalogueValidator? = nil
    ) throws -> (end: ClusterLogEnd, last: Position) {
        try environment.write { transaction in
            guard var node = try StateRows.node(transaction.reads, tables) else { throw EvstoreError.misuse("the log is no node") }
            for frame in frames {
                node = try FrameIntake.run(frame.lent, node, &transaction, self, checksLinks: checksLinks, judge: judge)
            }
            return (node.end, try Blocks.last(transaction.reads, self))
        }
    }

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
            let key = NodeRow.key(node.name)
            if !node.isReplacing, try log.read({ try $0.rows(.notes, prefix: key) }).contains(where: { $0.key == key }) {
                throw EvstoreError.nodeTaken(node.name)
            }
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

extension EventLog {
    package static func isReplica(at store: String) throws -> Bool {
        guard try Directory.status(store + "/" + Manifest.name) != nil else { return false }
        return try replica(at: store) != nil
    }

    /// Makes the store a member of the cluster log whose events it has, at the top version.
    /// - Parameter check: gets the other nodes of the log.
    package func join(_ check: @escaping @Sendable ([NodeRow]) throws -> Void) async throws {
        guard let membership else { throw EvstoreError.misuse("the store belongs to no cluster log") }
        try await update { update in
            // This node's row may be there already, if the process was killed between the cluster log's commit and its own.
            try check(update.nodes().filter { $0.incarnation != membership.incarnation })
            update.state.live = update.state.top
            try update.putNode(membership, live: update.state.live)
            try StateRows.setJoining(false, &update.transaction, update.access.tables)
        }
    }

    /// Whether a store was made as this node and has not become a member: a join that was killed near its end.
    package static func isUnfinishedNode(at store: String, _ node: String, of log: String) throws -> Bool {
        guard try Directory.status(store + "/" + Manifest.name) != nil, let found = try Self.node(at: store) else { return false }
        return found.isJoining && found.membership.node == node && found.membership.log == log
    }

    /// Gives a whole log as the frames of a new cluster log: the rows first, then the blocks.
    /// - Parameter node: the row of the first node, which is added to the rows; nil where there is none yet.
    package func frames(node: NodeRow?, _ body: (NewClusterFrame) throws -> Void) throws -> GivenLog {
        do {
            var end = ClusterLogEnd.start
            var rows = ByteBuffer()
            let (last, stamp) = try read { reader in
                try SharedRows.appendAll(reader.transaction, reader.access.tables, to: &rows)
                return (reader.last, reader.stamp)
            }
            if let node { SharedRows.append(Catalogue.notes.rawValue, NodeRow.key(node.name), node.value, to: &rows) }
            func give(_ position: Position, _ rows: RawSpan, _ blocks: RawSpan) throws {
                let frame = ClusterFrame.encoded(after: end, Checkpoint(epoch: last.epoch, position: position), rows: rows, blocks: blocks)
                try frame.checkSize()
                try body(frame)
                end = frame.end
            }
            try give(.start, rows.bytes, RawSpan())
            var done = Position.start
            var blocks = ByteBuffer(capacity: Self.frameBytesWanted)
            while done < last.position {
                blocks.removeAll()
                try read { reader in
                    try Blocks.forEach(after: done, reader.transaction, reader.access) { block in
                        blocks.append(block.bytes)
                        done = block.last
                        return blocks.count < Self.frameBytesWanted && done < last.position
                    }
                }
                try give(done, RawSpan(), blocks.bytes)
            }
            return GivenLog(last: last, stamp: stamp, end: end)
        } catch { throw storeError(error, path, doing: "copying \(path) to a cluster log") }
    }

    private static let frameBytesWanted = 4 << 20
}

/// The state of a log as it was given to a new cluster log.
package struct GivenLog: Sendable {
    var last: Checkpoint
    var stamp: StateStamp
    var end: ClusterLogEnd
}

extension LogBuilder {
    /// Makes the log that of a node without frames.
    package func become(_ membership: ClusterMembership) throws {
        try write { transaction in
            try StateRows.put(StateRows.Node(membership: membership, end: .start, last: .start), &transaction, access.tables)
            try StateRows.setJoining(true, &transaction, access.tables)
        }
    }
}

extension LogUpdate {
    /// Makes the store the first node of a cluster log that was made from its events.
    /// - Throws: `EvstoreError.clusterMismatch` where the store has changed since.
    fileprivate mutating func become(_ membership: ClusterMembership, having given: GivenLog) throws {
        try requireOwn()
        guard last == given.last, state.stamp == given.stamp else {
            throw EvstoreError.clusterMismatch(
                log: membership.log, reason: "the store was written to while it was copied",
                how: "copy it again, and write nothing meanwhile")
        }
        // Those of a cluster log that the store belonged to before, or whose backup it was restored from.
        for row in try rows(.notes) where row.key.starts(with: NodeRow.prefix) { try delete(.notes, row.key) }
        try StateRows.put(StateRows.Node(membership: membership, end: given.end, last: last.position), &transaction, access.tables)
        try putNode(membership, live: state.live)
    }

    /// Makes a replica a node that has the frames of the cluster log up to `end`, which ends at `position`; the replica's log goes further.
    fileprivate mutating func become(_ membership: ClusterMembership, behind end: ClusterLogEnd, _ position: Position) throws {
        try StateRows.removeReplica(&transaction, access.tables)
        isPromoted()
        try StateRows.put(StateRows.Node(membership: membership, end: end, last: position), &transaction, access.tables)
        try StateRows.setJoining(true, &transaction, access.tables)
    }
}

extension EvstoreError {
    package static func nodeTaken(_ node: String) -> EvstoreError {
        .usage("there is already a node \(quoted(node))", fix: "choose another name, or replace it where its store is lost")
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
