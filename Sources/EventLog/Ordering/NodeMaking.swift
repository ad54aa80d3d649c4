internal import Bytes
package import EventModel
internal import LMDB
internal import Platform

extension LogBuilder {
    /// Makes the log that of a node without frames.
    package func become(_ membership: ClusterMembership) throws {
        try write { transaction in
            try StateRows.put(StateRows.Node(membership: membership, end: .start, last: .start), &transaction, access.tables)
            try StateRows.setJoining(true, &transaction, access.tables)
        }
    }
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
}

extension LogUpdate {
    /// Makes the store the first node of a cluster log that was made from its events.
    /// - Throws: `EvstoreError.clusterMismatch` where the store has changed since.
    package mutating func become(_ membership: ClusterMembership, having given: GivenLog) throws {
        try requireOwn()
        guard last == given.last, state.stamp == given.stamp else {
            throw EvstoreError.clusterMismatch(
                log: membership.log, reason: "the store was written to while it was copied",
                how: "copy it again, and write nothing meanwhile")
        }
        try StateRows.put(StateRows.Node(membership: membership, end: given.end, last: last.position), &transaction, access.tables)
        try putNode(membership, live: state.live)
    }
}

extension LogUpdate {
    /// Makes a replica a node that has the frames of the cluster log up to `end`, which ends at `position`; the replica's log goes further.
    package mutating func become(_ membership: ClusterMembership, behind end: ClusterLogEnd, _ position: Position) throws {
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

extension EventLog {
    /// Whether the log, as far as this node has it, has a node of this name.
    package func hasNode(_ name: String) throws -> Bool {
        let key = NodeRow.key(name)
        return try read { try $0.rows(.notes, prefix: key) }.contains { $0.key == key }
    }

    /// Whether there is a replica at a path.
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
            try update.endJoining()
        }
    }

    /// Whether a store was made as this node and has not become a member: a join that was killed near its end.
    package static func isUnfinishedNode(at store: String, _ node: String, of log: String) throws -> Bool {
        guard try Directory.status(store + "/" + Manifest.name) != nil, let found = try Self.node(at: store) else { return false }
        return found.isJoining && found.membership.node == node && found.membership.log == log
    }
}

extension LogUpdate {
    fileprivate mutating func endJoining() throws { try StateRows.setJoining(false, &transaction, access.tables) }
}

/// The state of a log as it was given to a new cluster log.
package struct GivenLog: Sendable {
    var last: Checkpoint
    var stamp: StateStamp
    package var end: ClusterLogEnd
}

extension EventLog {
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
