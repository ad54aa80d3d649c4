internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Logging
package import Platform

/// A node of the cluster log that the store belongs to. It is a row of the table `notes`, equal on all nodes: the key is "node/" and the
/// name; the value is the node's live version, u32, and 8 bytes that tell this store from earlier ones with the same name. Changes to the
/// row are frames, so that every node knows the version of each other node.
package struct NodeRow: Hashable, Sendable {
    package var name: String
    package var live: SchemaVersion
    package var incarnation: [UInt8]

    package static let prefix = Array("node/".utf8)

    package static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    package var value: [UInt8] { bytes(live.rawValue) + incarnation }

    package init?(_ key: [UInt8], _ value: [UInt8]) {
        guard value.count == 4 + ClusterMembership.incarnationBytes else { return nil }
        incarnation = Array(value[4...])
        name = String(decoding: key.dropFirst(Self.prefix.count), as: UTF8.self)
        live = SchemaVersion(value.lent.load(UInt32.self, at: 0))
    }

    package init(_ membership: ClusterMembership, live: SchemaVersion) {
        (name, incarnation, self.live) = (membership.node, membership.incarnation, live)
    }

    /// The nodes of the cluster log that the store belongs to, by name; empty where it belongs to none.
    fileprivate static func all(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> [NodeRow] {
        guard try StateRows.node(transaction, tables) != nil else { return [] }
        return try Rows.all(prefix, transaction, tables[.notes]).compactMap { NodeRow($0.key, $0.value) }
    }

    /// Names are 1 to 63 letters, digits, hyphens, underscores and dots.
    package static func isName(_ text: String) -> Bool {
        (1 ... 63).contains(text.utf8.count)
            && text.utf8.allSatisfy { ($0 >= 48 && $0 <= 57) || ($0 | 32 >= 97 && $0 | 32 <= 122) || [45, 46, 95].contains($0) }
    }
}

extension Catalogue {
    /// Whether all nodes of a cluster share a row; other rows are a node's own.
    package func isShared(_ key: [UInt8]) -> Bool {
        switch self {
        case .schemas, .definitions, .imports: true
        case .notes: key.starts(with: NodeRow.prefix)
        case .journal, .snapshots: false
        }
    }
}

extension LogReader {
    /// The nodes of the cluster log that the store belongs to, by name; empty where it belongs to none.
    package func nodes() throws -> [NodeRow] { try NodeRow.all(transaction, access.tables) }

    /// The store's membership in a cluster log, and the last frame that it has; nil where it belongs to none.
    package func membership() throws -> (membership: ClusterMembership, end: ClusterLogEnd)? {
        try StateRows.node(transaction, access.tables).map { ($0.membership, $0.end) }
    }
}

extension LogUpdate {
    /// The nodes of the cluster log, as the update sees them; empty where the store belongs to none.
    package func nodes() throws -> [NodeRow] { try NodeRow.all(transaction.reads, access.tables) }

    /// Takes a node out of the cluster log: it can't append any more, and no other node waits for it.
    package mutating func removeNode(_ name: String) throws { try delete(.notes, NodeRow.key(name)) }

    package mutating func lowerNodes(to top: SchemaVersion) throws {
        for var row in try nodes() where row.live > top {
            row.live = top
            try put(.notes, NodeRow.key(row.name), row.value)
        }
    }

    package mutating func putNode(_ membership: ClusterMembership, live: SchemaVersion) throws {
        let row = NodeRow(membership, live: live)
        try put(.notes, NodeRow.key(row.name), row.value)
    }
}

/// The row "node" of the table `state`, in a store that belongs to a cluster log: its membership, and the last frame that it has. Written
/// in the transaction that takes in that frame.
///
///     0   u64  number of the frame
///     8   32   its link
///     40  16   the cluster log's id
///     56  u64  the log's last position after that frame
///     64  8    tells the store from earlier ones with the same node name
///     72  u8   length, the cluster log's name; u8 length, the node's name
extension StateRows {
    package struct Node: Hashable, Sendable {
        package var membership: ClusterMembership
        package var end: ClusterLogEnd
        /// The last position after that frame. The log has events beyond it only if the store was recovered after a power cut: they come
        /// from frames that it had taken in.
        package var last: Position

        package init(membership: ClusterMembership, end: ClusterLogEnd, last: Position) {
            (self.membership, self.end, self.last) = (membership, end, last)
        }

        /// - Throws: `EvstoreError.clusterWentBack` where the log has events beyond the cluster log's end, which is this node's end too:
        ///   they come from frames that it had taken in before a power cut here and a failover there.
        package func requireNoMore(than position: Position) throws {
            if position != last { throw EvstoreError.clusterWentBack(log: membership.log, cluster: last, node: position) }
        }
    }

    private static let nodeKey = Array("node".utf8)
    private static let fixedBytes = 72

    package static func node(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Node? {
        guard let row = try tables.state.get(nodeKey.lent, transaction) else { return nil }
        guard row.byteCount > fixedBytes else { throw damagedNode }
        var end = ClusterLogEnd(number: row.load(UInt64.self, at: 0), link: [UInt8](copying: row.slice(8, 32)))
        let id = [UInt8](copying: row.slice(40, 16))
        var last = Position(row.load(UInt64.self, at: 56))
        // The row is as old as the last block in LMDB: the blocks ahead of LMDB note their own frame.
        if let noted = transaction.ahead.flatMap({ AheadBlocks.node($0.note) }) { (end, last) = noted }
        guard let texts = texts(row, from: fixedBytes), texts.count == 2, last <= .largest, end.number <= Position.largest.rawValue
        else { throw damagedNode }
        return Node(
            membership: ClusterMembership(log: texts[0], id: id, node: texts[1], incarnation: [UInt8](copying: row.slice(64, 8))), end: end,
            last: last)
    }

    package static func put(_ node: Node, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        var row = ByteBuffer(capacity: 128)
        row.append(littleEndian: node.end.number)
        row.append(node.end.link)
        row.append(node.membership.id)
        row.append(littleEndian: node.last.rawValue)
        row.append(node.membership.incarnation)
        for text in [node.membership.log, node.membership.node] {
            row.append(UInt8(text.utf8.count))
            row.append(text)
        }
        try tables.state.put(nodeKey.lent, row.bytes, &transaction)
    }

    /// The row "joining": it exists from when a store is made as a node until it has become a member.
    private static let joiningKey = Array("joining".utf8)

    static func isJoining(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> Bool {
        try tables.state.get(joiningKey.lent, transaction) != nil
    }

    package static func setJoining(_ isJoining: Bool, _ transaction: inout WriteTransaction, _ tables: Tables) throws {
        if isJoining {
            try tables.state.put(joiningKey.lent, [1].lent, &transaction)
        } else {
            try tables.state.delete(joiningKey.lent, &transaction)
        }
    }

    static func removeNode(_ transaction: inout WriteTransaction, _ tables: Tables) throws {
        try tables.state.delete(nodeKey.lent, &transaction)
    }

    private static var damagedNode: EvstoreError {
        .corruptBlock(position: .start, reason: "the row \"node\" of the table state is invalid: no store has written it")
    }
}

/// What a node learned when it last asked its cluster log.
package final class NodeHealth: Sendable {
    package typealias Trouble = (error: EvstoreError, since: Instant)

    private struct State {
        var trouble: Trouble?
        var hasTwin = false
    }

    private let state = Monitor(State())

    /// The error that kept the node from reaching the cluster log's end, and since when.
    package var trouble: Trouble? { state.withLock { $0.trouble } }

    /// Whether another directory is used as the same node, as far as is known: a copy of this one, or the original of which this is a copy.
    package var hasTwin: Bool { state.withLock { $0.hasTwin } }

    /// Notes an error, or that there is none; returns whether it differs from the one before.
    @discardableResult
    package func note(_ error: EvstoreError?) -> Bool {
        state.withLock { state in
            defer { state.trouble = error.map { ($0, state.trouble?.since ?? .now) } }
            return state.trouble?.error != error
        }
    }

    /// Notes whether there is a twin; returns whether that has changed.
    package func note(hasTwin: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasTwin = hasTwin }
            return state.hasTwin != hasTwin
        }
    }

    package func take(_ other: NodeHealth) {
        let told = other.state.withLock { $0 }
        state.withLock { $0 = told }
    }
}

extension EventLog {
    /// Takes in the commits of the cluster log that this node lacks, as far as possible within a time, and for as long again while
    /// frames keep coming. Notes an error that kept it from the end (`clusterTrouble`). No-op for a store that belongs to no cluster log.
    package func catchUp(within interval: Duration) async {
        do {
            try await takeInFrames(within: interval, until: .now + interval)
            nodeHealth.note(nil)
            reportNode()
        } catch { nodeHealth.note(storeError(error, path, doing: "following the cluster log")) }
    }

    /// Ends the thread that follows the cluster log, for a store whose files are about to be removed. No-op for a store that is alone.
    package func stopFollowing() { order?.end(waiting: true) }

    package func warn(_ text: String, _ error: (any Error)? = nil) {
        logger.warning("\(text)", metadata: error.map { ["error": .stringConvertible($0.advised)] })
    }

    /// Makes the store one that is alone, and leaves the node in its cluster log, since another directory is that node.
    package func leaveToTwin() async throws { try await update { update in update.becomesAlone = true } }
}

/// A cut of the log that is ordered like every other change of a cluster: the node that requests it adds a frame without blocks, and each
/// node, including that one, makes the cut when it takes in the frame.
package struct ClusterCut: Hashable, Sendable {
    package var position: Position
    package var epoch: Epoch
    package var link: Digest
    package var note: String

    package init(at position: Position, _ epoch: Epoch, link: Digest, note: String) {
        (self.position, self.epoch, self.link, self.note) = (position, epoch, link, note)
    }
}

/// Keeps the events that a cut of the cluster log takes off a node, before it does. It is called on the writing thread, under the writer's
/// turn, with the last checkpoint before the cut; and again if the cut was interrupted afterwards.
/// - Returns: makes the row for the journal, as JSON, from the version that is live after the cut.
package typealias TailKeeper = @Sendable (EventLog, ClusterCut, _ last: Checkpoint) throws -> @Sendable (_ live: SchemaVersion) -> [UInt8]

/// Calls a tail keeper for a log, without keeping the log open.
package final class WeakTailKeeper: Sendable {
    private struct Kept {
        weak var log: EventLog?
    }

    private let keeper: TailKeeper
    private let kept = Monitor(Kept())

    init(_ keeper: @escaping TailKeeper) { self.keeper = keeper }

    func begin(_ log: EventLog) { kept.withLock { $0.log = log } }

    package func keep(_ cut: ClusterCut, through last: Checkpoint) throws -> @Sendable (SchemaVersion) -> [UInt8] {
        guard let log = kept.withLock({ $0.log }) else { throw EvstoreError.misuse("the store has been closed") }
        return try keeper(log, cut, last)
    }
}
