internal import Bytes
internal import ClusterLog
internal import EventLog
public import EventModel
package import Evstore
internal import Platform
internal import Projections

/// The status of a cluster log and its nodes.
public struct ClusterStatus: Sendable {
    /// A node as it has last reported itself.
    public struct Node: Sendable {
        public var name: String
        public var live: SchemaVersion
        public var position: Position
        /// The number of events that it has not taken in yet.
        public var lag: UInt64
        /// The number of frames that it has not taken in yet: frames of events, or frames without events such as a cut, behind which its
        /// lag is not known.
        public var framesBehind: UInt64
        public var program: String
        /// How long ago its last report was, in whole seconds: a node that no process has open reports nothing.
        public var silence: Duration
    }

    public var name: String
    /// The position of the last event.
    public var position: Position
    public var epoch: Epoch
    /// The number of frames; all of them were counted.
    public var frames: UInt64
    /// The last of the frames that were removed because every node and a backup have them; 0 where none were removed.
    public var pruned: UInt64
    public var nodes: [Node]
}

extension Cluster {
    /// Asks PostgreSQL where the cluster log ends and what its nodes have last reported, and counts the frames.
    /// - Throws: `EvstoreError`: logUnavailable, usage where the cluster log does not exist, clusterDamaged where a frame is missing.
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
    /// The status of the store's cluster log and its nodes; nil where it belongs to none. Unlike `Cluster.status` it does not count frames:
    /// it makes three short queries to PostgreSQL, whatever the size of the log.
    /// - Throws: `EvstoreError`: logUnavailable, clusterDamaged.
    package func clusterStatus() async throws(EvstoreError) -> ClusterStatus? {
        guard let membership = log.membership else { return nil }
        return try await StoreThreads.run { () async throws(EvstoreError) in
            do {
                let database = ClusterDatabase(log: membership.log, try ConnectionFile.find(at: path))
                return try ClusterStatus(membership.log, database.readyRow(), database.nodes())
            } catch { throw EvstoreError(converting: error, at: path, doing: "asking for the nodes of \(membership.log)") }
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
                    framesBehind: row.end.number.minus(node.frame), program: node.program, silence: node.silence)
            })
    }
}
