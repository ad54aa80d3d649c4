/// The end of a cluster log as a node knows it: the number of frames and the link of the last one, to which the next frame is linked.
package struct ClusterLogEnd: Hashable, Sendable {
    package var number: UInt64
    /// 32 bytes.
    package var link: [UInt8]

    package init(number: UInt64, link: [UInt8]) { (self.number, self.link) = (number, link) }

    /// Before the first frame.
    package static let start = ClusterLogEnd(number: 0, link: [UInt8](repeating: 0, count: 32))
}

/// A new frame of a cluster log: what one commit adds to the log of every node.
package struct NewClusterFrame: Sendable {
    /// The end of the cluster log including this frame.
    package var end: ClusterLogEnd
    /// The position of the last event including this frame, and its epoch.
    package var last: Checkpoint
    package var bytes: [UInt8]

    package init(end: ClusterLogEnd, last: Checkpoint, bytes: [UInt8]) { (self.end, self.last, self.bytes) = (end, last, bytes) }
}

/// The cluster log to which a store belongs, and the node that the store is.
package struct ClusterMembership: Hashable, Sendable {
    /// The name of the cluster log.
    package var log: String
    /// Distinguishes the cluster log from all others, even from those of the same name: 16 bytes, chosen when it was created.
    package var id: [UInt8]
    package var node: String
    /// Distinguishes the store from earlier stores with the same node name: 8 bytes, chosen when it joined.
    package var incarnation: [UInt8]

    package static let incarnationBytes = 8

    package init(log: String, id: [UInt8], node: String, incarnation: [UInt8]? = nil) {
        (self.log, self.id, self.node) = (log, id, node)
        self.incarnation = incarnation ?? (0 ..< Self.incarnationBytes).map { _ in .random(in: 0 ... 255) }
    }
}

/// A marker for the object through which a node reaches its cluster log. `Options` can't name the protocol that the log requires
/// (`CommitOrderSource`). An object that does not conform to that protocol is treated as nil.
package protocol OrderSource: AnyObject, Sendable {}
