internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB

/// Takes a frame of a cluster log into a node's log, within a transaction.
enum FrameIntake {
    /// - Parameters:
    ///   - checksLinks: whether the links of the blocks are checked too, beside that of the frame; false where the whole log is verified
    ///     afterwards.
    ///   - journal: makes the row that a cut leaves in the journal, from the version that is live after it.
    ///   - judge: see `SharedRows.put`.
    /// - Returns: the node's row with this frame.
    /// - Throws: `EvstoreError`: clusterDamaged where the frame does not follow `node.end`, or does not fit the log.
    static func run(
        _ bytes: RawSpan, _ node: StateRows.Node, _ transaction: inout WriteTransaction, _ access: LogAccess,
        checksLinks: Bool = true, journal: ((SchemaVersion) -> [UInt8])? = nil, judge: CatalogueValidator? = nil
    ) throws -> StateRows.Node {
        let number = node.end.number.plus(1)
        func damaged(_ reason: String) -> EvstoreError { .clusterDamaged(log: node.membership.log, frame: number, reason: reason) }
        do {
            let frame = try ClusterFrame(checking: bytes, after: node.end)
            let cut = try frame.cut
            try cut?.make(&transaction, access)
            // Order: the rows come first, since they hold the epochs of the blocks.
            try SharedRows.put(frame.rows, of: node.membership.node, judge, &transaction, access.tables)
            var blocks = try BlockIntake(transaction.reads, access, isOfThisEpoch: false, checksLinks: checksLinks)
            let before = blocks.last
            if let gap = try blocks.add(frame.blocks, &transaction) {
                // The node has another block there: after a power cut its log may be ahead of the row about the node.
                let last = try Blocks.last(transaction.reads, access)
                if gap <= last { throw EvstoreError.clusterWentBack(log: node.membership.log, cluster: node.last, node: last) }
                throw damaged("its block at position \(gap) does not follow this node's log")
            }
            guard blocks.last == max(before, frame.last.position) else {
                throw damaged("it ends at position \(frame.last.position), its blocks at \(blocks.last)")
            }
            if let cut { try end(cut, frame.last, journal, &transaction, access) }
            let taken = StateRows.Node(membership: node.membership, end: frame.end, last: frame.last.position)
            try StateRows.put(taken, &transaction, access.tables)
            return taken
        } catch let damage as FrameDamage {
            guard let format = damage.format else { throw damaged(damage.reason) }
            throw EvstoreError.storeNewer(
                path: "frame \(number) of the cluster log \(node.membership.log)", format: format, known: ClusterFrame.format)
        } catch EvstoreError.corruptBlock(let position, let reason) {
            throw damaged("its block at position \(position): \(reason)")
        }
    }

    private static func end(
        _ cut: ClusterCut, _ last: Checkpoint, _ journal: ((SchemaVersion) -> [UInt8])?, _ transaction: inout WriteTransaction,
        _ access: LogAccess
    ) throws {
        let stamp = try StateRows.numbers(transaction.reads, access.tables)
        guard stamp.epoch == cut.epoch, last == Checkpoint(epoch: cut.epoch, position: cut.position) else {
            throw FrameDamage("its cut is at position \(cut.position) of epoch \(cut.epoch), and it ends at \(last)")
        }
        if let journal { try Rows.append(journal(stamp.stamp.live), to: access.tables[.journal], &transaction) }
    }
}

extension LogContext {
    /// Lets the tail keeper keep the events that a frame's cut takes off this node. Returns the row for its journal; nil where there is
    /// nothing to keep.
    func keepTail(_ bytes: [UInt8], _ node: StateRows.Node) throws -> ((SchemaVersion) -> [UInt8])? {
        guard let tailKeeping else { return nil }
        do {
            let frame = try ClusterFrame(checking: bytes.lent, after: node.end)
            guard let cut = try frame.cut else { return nil }
            let last = try access.environment.read { transaction in
                try cut.check(transaction, access)
                return try Blocks.end(transaction, access)
            }
            guard frame.last == Checkpoint(epoch: cut.epoch, position: cut.position), frame.blocks.byteCount == 0 else { return nil }
            return try tailKeeping.keep(cut, through: last)
        } catch is FrameDamage {
            // Such a frame is refused when it is taken in, and so takes no events off.
            return nil
        }
    }
}
