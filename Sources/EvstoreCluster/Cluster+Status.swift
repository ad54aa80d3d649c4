internal import Bytes
internal import ClusterLog
internal import EventLog
public import EventModel
package import Evstore
internal import Platform

/// How a cluster log and its nodes are.
public struct ClusterStatus: Sendable {
    /// A node as it has reported itself last.
    public struct Node: Sendable {
        public var name: String
        public var live: SchemaVersion
        public var position: Position
        /// How many events it has not taken in yet.
        public var lag: UInt64
        /// How many frames it has not taken in yet: of events, or of what has none, such as a cut, behind which its lag is not known.
        public var framesBehind: UInt64
        public var program: String
        /// How long ago it has reported itself: a node that nobody has open reports nothing.
        public var secondsAgo: Int
    }

    public var name: String
    /// The last event.
    public var position: Position
    public var epoch: Epoch
    /// How many frames there are; all of them were counted.
    public var frames: UInt64
    /// The last of the frames that were removed since every node and a backup have them; 0 where none were.
    public var pruned: UInt64
    public var nodes: [Node]
}

extension Cluster {
    /// Asks PostgreSQL where the cluster log ends and what its nodes have said last, and counts the frames.
    /// - Throws: `EvstoreError`: logUnavailable, usage where there is no such cluster log, clusterDamaged where a frame is missing.
    public func status() async throws(EvstoreError) -> ClusterStatus {
        try await StoreThreads.run { () async throws(EvstoreError) in
            let database = database()
            let row = try database.readyRow()
            try database.requireWhole(row)
            return try ClusterStatus(name, row, database.nodes())
        }
    }
}

extension EventStore {
    /// How the store's cluster log and its nodes are; nil where it belongs to none. Frames are not counted, unlike in `Cluster.status`: it
    /// takes three short questions to PostgreSQL, whatever the log holds.
    /// - Throws: `EvstoreError`: logUnavailable, clusterDamaged.
    package func clusterStatus() async throws(EvstoreError) -> ClusterStatus? {
        guard let membership = log.membership else { return nil }
        return try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                return try ClusterStatus(membership.log, database.readyRow(), database.nodes())
            } catch { throw storeError(error, path, doing: "asking for the nodes of \(membership.log)") }
        }
    }
}

extension ClusterStatus {
    fileprivate init(_ name: String, _ row: ClusterRow, _ nodes: [ReportedNode]) throws(EvstoreError) {
        self.init(
            name: name, position: row.last.position, epoch: row.last.epoch, frames: row.end.number.minus(row.pruned),
            pruned: row.pruned,
            nodes: nodes.map { node in
                ClusterStatus.Node(
                    name: node.name, live: node.live, position: node.position, lag: row.last.position.events(after: node.position),
                    framesBehind: row.end.number.minus(node.frame), program: node.program, secondsAgo: node.secondsAgo)
            })
    }
}
