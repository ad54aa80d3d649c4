internal import Bytes
package import EventModel
internal import LMDB

/// A node of the cluster log that the store belongs to: a row of the table `notes` that is the same on all of them, its key "node/" and the
/// name, its value the live version there, u32, and the 8 bytes that tell this store of the name from those before it. Its changes are frames, so that every node knows at which version each other one works.
package struct NodeRow: Hashable, Sendable {
    package var name: String
    package var live: SchemaVersion
    /// Which of the stores that have had the name.
    package var incarnation: [UInt8]

    package static let prefix = Array("node/".utf8)

    package static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    var value: [UInt8] { bytes(live.rawValue) + incarnation }

    package init?(_ key: [UInt8], _ value: [UInt8]) {
        guard value.count == 4 + Membership.incarnationBytes else { return nil }
        incarnation = Array(value[4...])
        name = String(decoding: key.dropFirst(Self.prefix.count), as: UTF8.self)
        live = SchemaVersion(value.lent.load(UInt32.self, at: 0))
    }

    package init(_ membership: Membership, live: SchemaVersion) {
        (name, incarnation, self.live) = (membership.node, membership.incarnation, live)
    }

    /// Names are 1 to 63 letters, digits, hyphens, underscores and dots.
    package static func isName(_ text: String) -> Bool {
        (1 ... 63).contains(text.utf8.count)
            && text.utf8.allSatisfy { ($0 >= 48 && $0 <= 57) || ($0 | 32 >= 97 && $0 | 32 <= 122) || [45, 46, 95].contains($0) }
    }
}

extension LogReader {
    /// The nodes of the cluster log that the store belongs to, by name; none where it belongs to none.
    package func nodes() throws -> [NodeRow] {
        guard try StateRows.node(transaction, access.tables) != nil else { return [] }
        return try rows(.notes, prefix: NodeRow.prefix).compactMap { NodeRow($0.key, $0.value) }
    }

    /// As which node of which cluster log the store is written, and the last frame that it has; nil where it belongs to none.
    package func membership() throws -> (membership: Membership, end: FrameEnd)? {
        try StateRows.node(transaction, access.tables).map { ($0.membership, $0.end) }
    }
}

extension LogUpdate {
    /// The same as the update sees it.
    package func nodes() throws -> [NodeRow] {
        guard try StateRows.node(transaction.reads, access.tables) != nil else { return [] }
        return try rows(.notes, prefix: NodeRow.prefix).compactMap { NodeRow($0.key, $0.value) }
    }

    /// Takes a node out of the cluster: it can't append any more, and nobody waits for it.
    package mutating func removeNode(_ name: String) throws { try delete(.notes, NodeRow.key(name)) }

    /// Brings every node that works above a version down to it.
    package mutating func lowerNodes(to top: SchemaVersion) throws {
        for var row in try nodes() where row.live > top {
            row.live = top
            try put(.notes, NodeRow.key(row.name), row.value)
        }
    }

    /// Adds the node, or says at which version it works now.
    package mutating func putNode(_ membership: Membership, live: SchemaVersion) throws {
        let row = NodeRow(membership, live: live)
        try put(.notes, NodeRow.key(row.name), row.value)
    }
}
