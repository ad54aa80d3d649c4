/// The end of a cluster log as a node knows it: how many frames there are, and the link of the last, which the next one follows.
package struct FrameEnd: Hashable, Sendable {
    package var number: UInt64
    /// 32 bytes.
    package var link: [UInt8]

    package init(number: UInt64, link: [UInt8]) { (self.number, self.link) = (number, link) }

    /// Before the first frame.
    package static let start = FrameEnd(number: 0, link: [UInt8](repeating: 0, count: 32))
}

/// A frame as it is added to a cluster log: what one commit adds to the log of every node.
package struct NewFrame: Sendable {
    /// The end of the cluster log with it.
    package var end: FrameEnd
    /// The last position with it, and its epoch.
    package var last: Checkpoint
    package var bytes: [UInt8]

    package init(end: FrameEnd, last: Checkpoint, bytes: [UInt8]) { (self.end, self.last, self.bytes) = (end, last, bytes) }
}

/// The cluster log that a store belongs to, and as which node.
package struct Membership: Hashable, Sendable {
    /// The name of the cluster log.
    package var log: String
    /// Tells it from all others, also of the same name: 16 bytes, chosen when it was made.
    package var id: [UInt8]
    package var node: String
    /// Tells the store from others that had the node's name before it: 8 bytes, chosen when it joined.
    package var incarnation: [UInt8]

    package static let incarnationBytes = 8

    package init(log: String, id: [UInt8], node: String, incarnation: [UInt8]? = nil) {
        (self.log, self.id, self.node) = (log, id, node)
        self.incarnation = incarnation ?? (0 ..< Self.incarnationBytes).map { _ in .random(in: 0 ... 255) }
    }
}

/// The way to the cluster log of a store that is a node of one. A mark for `Options`, which can't name what the log asks of it
/// (`CommitOrderSource`): one that is not that is taken for none.
package protocol OrderSource: AnyObject, Sendable {}
