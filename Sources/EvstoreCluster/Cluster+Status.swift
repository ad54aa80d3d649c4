internal import ClusterLog
internal import EventLog
public import EventModel
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
            let nodes = try database.nodes().map { node in
                ClusterStatus.Node(
                    name: node.name, live: node.live, position: node.position,
                    lag: row.last.position.rawValue - min(node.position.rawValue, row.last.position.rawValue),
                    framesBehind: row.end.number - min(node.frame, row.end.number), program: node.program,
                    secondsAgo: node.secondsAgo)
            }
            return ClusterStatus(
                name: name, position: row.last.position, epoch: row.last.epoch, frames: row.end.number, nodes: nodes)
        }
    }
}
