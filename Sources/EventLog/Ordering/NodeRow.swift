internal import Bytes
package import EventModel
internal import LMDB

/// A node of the cluster log that the store belongs to. It is a row of the table `notes`, equal on all nodes: the key is "node/" and the
/// name; the value is the node's live version, u32, and 8 bytes that tell this store from earlier ones with the same name. Changes to the
/// row are frames, so that every node knows the version of each other node.
package struct NodeRow: Hashable, Sendable {
    package var name: String
    package var live: SchemaVersion
    /// Tells the stores apart that have had this name.
    package var incarnation: [UInt8]

    package static let prefix = Array("node/".utf8)

    package static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    var value: [UInt8] { bytes(live.rawValue) + incarnation }

    package init?(_ key: [UInt8], _ value: [UInt8]) {
        guard value.count == 4 + ClusterMembership.incarnationBytes else { return nil }
        incarnation = Array(value[4...])
        name = String(decoding: key.dropFirst(Self.prefix.count), as: UTF8.self)
        live = SchemaVersion(value.lent.load(UInt32.self, at: 0))
    }

    package init(_ membership: ClusterMembership, live: SchemaVersion) {
        (name, incarnation, self.live) = (membership.node, membership.incarnation, live)
    }

    /// Names are 1 to 63 letters, digits, hyphens, underscores and dots.
    package static func isName(_ text: String) -> Bool {
        (1 ... 63).contains(text.utf8.count)
            && text.utf8.allSatisfy { ($0 >= 48 && $0 <= 57) || ($0 | 32 >= 97 && $0 | 32 <= 122) || [45, 46, 95].contains($0) }
    }
}

extension LogReader {
    /// The nodes of the cluster log that the store belongs to, by name; empty where it belongs to none.
    package func nodes() throws -> [NodeRow] {
        guard try StateRows.node(transaction, access.tables) != nil else { return [] }
        return try rows(.notes, prefix: NodeRow.prefix).compactMap { NodeRow($0.key, $0.value) }
    }

    /// The store's membership in a cluster log, and the last frame that it has; nil where it belongs to none.
    package func membership() throws -> (membership: ClusterMembership, end: ClusterLogEnd)? {
        try StateRows.node(transaction, access.tables).map { ($0.membership, $0.end) }
    }
}

extension LogUpdate {
    /// The nodes of the cluster log, as the update sees them; empty where the store belongs to none.
    package func nodes() throws -> [NodeRow] {
        guard try StateRows.node(transaction.reads, access.tables) != nil else { return [] }
        return try rows(.notes, prefix: NodeRow.prefix).compactMap { NodeRow($0.key, $0.value) }
    }

    /// Takes a node out of the cluster log: it can't append any more, and no other node waits for it.
    package mutating func removeNode(_ name: String) throws { try delete(.notes, NodeRow.key(name)) }

    /// Lowers every node above a version to that version.
    package mutating func lowerNodes(to top: SchemaVersion) throws {
        for var row in try nodes() where row.live > top {
            row.live = top
            try put(.notes, NodeRow.key(row.name), row.value)
        }
    }

    /// Adds the node, or updates its live version.
    package mutating func putNode(_ membership: ClusterMembership, live: SchemaVersion) throws {
        let row = NodeRow(membership, live: live)
        try put(.notes, NodeRow.key(row.name), row.value)
    }
}
