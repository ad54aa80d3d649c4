internal import Bytes
package import EventModel
package import LMDB

/// The row "node" of the table `state`, in a store that belongs to a cluster log: its membership, and the last frame that it has. Written
/// in the transaction that takes in that frame.
///
///     0   u64  number of the frame
///     8   32   its link
///     40  16   the cluster log's id
///     56  u64  the log's last position after that frame
///     64  8    tells the store from earlier ones with the same node name
///     72  u8   length, the cluster log's name; u8 length, the node's name
extension StateRows {
    package struct Node: Hashable, Sendable {
        package var membership: ClusterMembership
        package var end: ClusterLogEnd
        /// The last position after that frame. The log has events beyond it only if the store was recovered after a power cut: they come
        /// from frames that it had taken in.
        package var last: Position

        package init(membership: ClusterMembership, end: ClusterLogEnd, last: Position) {
            (self.membership, self.end, self.last) = (membership, end, last)
        }

        /// - Throws: `EvstoreError.clusterWentBack` where the log has events beyond the cluster log's end, which is this node's end too:
        ///   they come from frames that it had taken in before a power cut here and a failover there.
        package func requireNoMore(than position: Position) throws {
            if position != last { throw EvstoreError.clusterWentBack(log: membership.log, cluster: last, node: position) }
        }
    }

    private static let nodeKey = Array("node".utf8)
    private static let fixedBytes = 72

    package static func node(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Node? {
        guard let row = try tables.state.get(nodeKey.lent, transaction) else { return nil }
        guard row.byteCount > fixedBytes else { throw damagedNode }
        var end = ClusterLogEnd(number: row.load(UInt64.self, at: 0), link: [UInt8](copying: row.slice(8, 32)))
        let id = [UInt8](copying: row.slice(40, 16))
        var last = Position(row.load(UInt64.self, at: 56))
        // The row is as old as the last block in LMDB: the blocks ahead of LMDB note their own frame.
        if let noted = transaction.ahead.flatMap({ AheadBlocks.node($0.note) }) { (end, last) = noted }
        guard let texts = texts(row, from: fixedBytes), texts.count == 2, last <= .largest, end.number <= Position.largest.rawValue
        else { throw damagedNode }
        return Node(
            membership: ClusterMembership(log: texts[0], id: id, node: texts[1], incarnation: [UInt8](copying: row.slice(64, 8))), end: end,
            last: last)
    }

    static func put(_ node: Node, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        var row = ByteBuffer(capacity: 128)
        row.append(littleEndian: node.end.number)
        row.append(node.end.link)
        row.append(node.membership.id)
        row.append(littleEndian: node.last.rawValue)
        row.append(node.membership.incarnation)
        for text in [node.membership.log, node.membership.node] {
            row.append(UInt8(text.utf8.count))
            row.append(text)
        }
        try tables.state.put(nodeKey.lent, row.bytes, &transaction)
    }

    /// The row "joining": it exists from when a store is made as a node until it has become a member.
    private static let joiningKey = Array("joining".utf8)

    static func isJoining(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Bool {
        try tables.state.get(joiningKey.lent, transaction) != nil
    }

    static func setJoining(_ isJoining: Bool, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        if isJoining {
            try tables.state.put(joiningKey.lent, [1].lent, &transaction)
        } else {
            try tables.state.delete(joiningKey.lent, &transaction)
        }
    }

    static func removeNode(_ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.state.delete(nodeKey.lent, &transaction)
    }

    private static var damagedNode: EvstoreError {
        .corruptBlock(position: .start, reason: "the row \"node\" of the table state is invalid: no store has written it")
    }
}
