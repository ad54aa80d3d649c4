internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// What a node says of itself, beside the frames.
struct NodeReport: Hashable, Sendable {
    var live: SchemaVersion
    var position: Position
    var frame: UInt64
    /// The nodes that there are with that frame, by name.
    var nodes: [String]
    /// Tells the directory from its copies: which store of the node's name it is, a hyphen, where it lies.
    var claim: String
}

extension NodeReport {
    /// What a node has to say of itself, with its row.
    static func now(
        _ membership: Membership, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> (node: StateRows.Node?, end: FrameEnd, report: NodeReport) {
        let node = try StateRows.node(transaction, access.tables)
        let end = node?.end ?? .start
        let live = try StateRows.numbers(transaction, access.tables).stamp.live
        let nodes = try Rows.all(NodeRow.prefix, transaction, access.tables[.notes]).compactMap { NodeRow($0.key, $0.value) }
        // Another store may have taken this one's place.
        let isMember = nodes.contains { $0.name == membership.node && $0.incarnation == membership.incarnation }
        let position = try Blocks.last(transaction, access)
        let report = NodeReport(
            live: live, position: position, frame: end.number, nodes: isMember ? nodes.map(\.name) : [],
            claim: try claim(membership, access))
        return (node, end, report)
    }

    /// A copy of a directory has other files, or is on another machine.
    private static func claim(_ membership: Membership, _ access: LogAccess) throws -> String {
        var hasher = SHA256Hasher()
        let inode = try Directory.status(access.environment.directory + "/data.mdb")?.inode ?? 0
        hasher.update((membership.incarnation + Array(ProcessIdentity.machine.utf8) + bytes(inode)).lent)
        return hex(membership.incarnation) + "-" + hex(Array(hasher.finalize().bytes.prefix(16)))
    }
}
