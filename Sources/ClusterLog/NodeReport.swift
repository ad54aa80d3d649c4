internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// A node's report about itself, apart from the frames.
struct NodeReport: Hashable, Sendable {
    var live: SchemaVersion
    var position: Position
    var frame: UInt64
    /// The nodes as of that frame, by name.
    var nodes: [String]
    /// Tells the directory from its copies: the store's incarnation of the node's name, a hyphen, and a digest of where the directory is.
    var claim: String
}

extension NodeReport {
    /// The current report of a node, with its row.
    static func now(
        _ membership: ClusterMembership, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> (node: StateRows.Node?, end: ClusterLogEnd, report: NodeReport) {
        let node = try StateRows.node(transaction, access.tables)
        let end = node?.end ?? .start
        let live = try StateRows.numbers(transaction, access.tables).stamp.live
        let nodes = try Rows.all(NodeRow.prefix, transaction, access.tables[.notes]).compactMap { NodeRow($0.key, $0.value) }
        // Another store may have replaced this one.
        let isMember = nodes.contains { $0.name == membership.node && $0.incarnation == membership.incarnation }
        let position = try Blocks.last(transaction, access)
        let report = NodeReport(
            live: live, position: position, frame: end.number, nodes: isMember ? nodes.map(\.name) : [],
            claim: try claim(membership, access))
        return (node, end, report)
    }

    /// The claim of this directory: a copy of it has other files, or is on another machine.
    private static func claim(_ membership: ClusterMembership, _ access: LogAccess) throws -> String {
        var hasher = SHA256Hasher()
        let inode = try Directory.status(access.environment.directory + "/data.mdb")?.inode ?? 0
        hasher.update((membership.incarnation + Array(ProcessIdentity.machine.utf8) + bytes(inode)).lent)
        return hex(membership.incarnation) + "-" + hex(Array(hasher.finalize().bytes.prefix(16)))
    }
}
