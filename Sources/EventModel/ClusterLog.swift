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

/// Frames that follow each other.
package struct FramePage: Sendable {
    package var frames: [[UInt8]]
    /// Whether the cluster log had no more of them when it was asked.
    package var isLast: Bool

    package init(_ frames: [[UInt8]], isLast: Bool) { (self.frames, self.isLast) = (frames, isLast) }
}

/// The server that a cluster log is written on: PostgreSQL's system identifier, which copies of the files share, and the timeline, which
/// grows with each promotion of a standby.
package struct ServerMark: Hashable, Sendable {
    package var system: UInt64
    package var timeline: UInt32

    package init(system: UInt64, timeline: UInt32) { (self.system, self.timeline) = (system, timeline) }
}

/// Decides the order of frames for all nodes of a cluster log. Used by one thread at a time; each call returns by its deadline.
package protocol Sequencer: Sendable {
    /// Returns once the cluster log can be asked.
    /// - Throws: `EvstoreError.logUnavailable` at the deadline.
    func connect(by deadline: ContinuousClock.Instant) throws(EvstoreError)

    /// Has each server that is connected to from now on looked at; one for which `check` throws is not used.
    func guardServers(_ check: @escaping @Sendable (ServerMark) throws(EvstoreError) -> Void)

    /// Adds a frame right behind `end`, durably; false, and nothing is added, where the cluster log ends elsewhere.
    /// - Throws: `EvstoreError.logUnavailable` where nothing was added; commitOutcomeUnknown where that can't be found out.
    func add(_ frame: NewFrame, after end: FrameEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool

    /// The frames behind `end`, in order, some megabytes of them; empty where there are none.
    /// - Parameter position: the node's last, for the error that it is ahead.
    /// - Throws: `EvstoreError`: logUnavailable; clusterWentBack and clusterDamaged where the log is not the one that the node has followed.
    func frames(after end: FrameEnd, at position: Position, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> FramePage

    /// Whether the cluster log ends at `end`: one row is read.
    func isEnd(_ end: FrameEnd, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool

    /// Notes for those who look at the cluster how far this node is, and which nodes are gone; nothing of one that is gone itself.
    /// - Parameter mayTakeOver: whether it speaks as the node from now on where another directory has, and has said nothing for a while.
    /// - Returns: false, and nothing is noted, where another directory speaks as this node.
    func report(_ node: NodeReport, mayTakeOver: Bool, by deadline: ContinuousClock.Instant) throws(EvstoreError) -> Bool
}

/// What a node says of itself, beside the frames.
package struct NodeReport: Hashable, Sendable {
    package var live: SchemaVersion
    package var position: Position
    package var frame: UInt64
    /// The nodes that there are with that frame, by name.
    package var nodes: [String]
    /// Tells the directory from its copies: which store of the node's name it is, a hyphen, where it lies.
    package var claim: String

    package init(live: SchemaVersion, position: Position, frame: UInt64, nodes: [String], claim: String) {
        (self.live, self.position, self.frame, self.nodes, self.claim) = (live, position, frame, nodes, claim)
    }
}

/// Makes the sequencer of a store that is a node.
package protocol SequencerSource: AnyObject, Sendable {
    /// - Throws: `EvstoreError.usage` where nothing says how the cluster log is reached.
    func sequencer(of membership: Membership, at store: String) throws(EvstoreError) -> any Sequencer

    /// What is to be said of the way to the cluster log; nil where nothing is.
    func warning(at store: String) throws(EvstoreError) -> String?
}
