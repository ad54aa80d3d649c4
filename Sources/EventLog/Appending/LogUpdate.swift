internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Platform

/// Changes other than appends, in one durable transaction: all of them or none.
package struct LogUpdate: ~Copyable {
    package var transaction: WriteTransaction
    package let access: LogAccess
    private let before: StoreState
    /// The node that makes the update; nil where the store belongs to no cluster log.
    package let node: ClusterMembership?
    /// The changes that every node of the cluster log gets.
    private(set) var shared: [SharedChange] = []
    /// Whether the update takes the node out of the cluster log.
    private(set) var isLeaving = false
    /// Whether the update makes the store one that is alone, without telling the cluster log.
    var becomesAlone = false
    /// Where the log ended before the cut that the update requests from the cluster log; nil where it requests none.
    private(set) var endBeforeCut: Position?
    /// For a replica: the backup that it holds. Then an update may change only what is the replica's own: which generations it has.
    package private(set) var replica: ReplicaMark?

    /// Written by `finish` if it was changed.
    package var state: StoreState
    package private(set) var last: Checkpoint
    /// The link for the next block.
    package private(set) var lastLink: Digest

    init(_ transaction: consuming WriteTransaction, _ access: LogAccess, _ node: ClusterMembership? = nil) throws {
        let state = try StateRows.state(transaction.reads, access.tables)
        let last = try Blocks.end(transaction.reads, access)
        let link = try Blocks.lastLink(transaction.reads, access, last.epoch)
        let replica = try StateRows.replica(transaction.reads, access.tables)
        self.transaction = transaction
        (self.access, self.state, before, self.node, self.replica) = (access, state, state, node, replica)
        (self.last, lastLink) = (last, link)
    }

    package func get(_ catalogue: Catalogue, _ key: [UInt8]) throws -> [UInt8]? {
        try Rows.get(key, transaction.reads, access.tables[catalogue])
    }

    package mutating func put(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8]) throws {
        try requireOwn()
        try Rows.check(key, catalogue)
        try access.tables[catalogue].put(key.lent, value.lent, &transaction)
        share(catalogue, key, value)
    }

    package mutating func delete(_ catalogue: Catalogue, _ key: [UInt8]) throws {
        try requireOwn()
        try access.tables[catalogue].delete(key.lent, &transaction)
        share(catalogue, key, nil)
    }

    private mutating func share(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8]?) {
        guard let node, catalogue.isShared(key) else { return }
        shared.append(.row(catalogue, key: key, value: value))
        if value == nil, key == NodeRow.key(node.node) { isLeaving = true }
    }

    /// The rows whose key begins with `prefix`, in the order of their keys: the first ones, or those from `start` on, at most `limit`.
    package func rows(
        _ catalogue: Catalogue, prefix: [UInt8] = [], from start: [UInt8]? = nil, limit: Int = .max
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        try Rows.all(prefix, transaction.reads, access.tables[catalogue], from: start, limit: limit)
    }

    package func link(at position: Position) throws -> Digest? {
        position > .start ? try Blocks.holding(position, transaction.reads, access)?.link : nil
    }

    /// Adds a row to the journal under the next free number. Does nothing in a replica, whose journal is that of its original.
    package mutating func appendJournal(_ json: [UInt8]) throws {
        if replica != nil { return }
        try Rows.append(json, to: access.tables[.journal], &transaction)
    }

    /// Removes every event after `position`, with its entries in the indexes and the import marks beyond it, and begins the next epoch, or
    /// `later`. O(removed events).
    ///
    /// A node requests the cut from the cluster log, and makes it as all nodes do, when it takes in the cut's frame. The update's other
    /// changes are kept if all nodes share them; changes to the node's own rows are not.
    /// - Parameter note: what the cut goes back to, for the journals of the nodes.
    package mutating func cut(to position: Position, later: Epoch? = nil, note: String = "") throws {
        try requireOwn()
        guard position <= last.position else {
            throw EvstoreError.misuse("a cut at \(position) lies beyond the last event, \(last.position)")
        }
        let epoch = max(state.epoch.next, later ?? .first)
        if let node {
            let link = try Cut.link(at: position, transaction.reads, access)
            return try ask(ClusterCut(at: position, epoch, link: link, note: "\(note) by \(node.node)"))
        }
        let (link, indexed) = try Cut.run(to: position, &transaction, access)
        try begin(epoch, at: position, link)
        state.indexed = indexed
    }

    private mutating func ask(_ cut: ClusterCut) throws {
        guard shared.isEmpty else { throw EvstoreError.misuse("a cut is the first change of its update") }
        shared.append(.cut(cut))
        endBeforeCut = last.position
        state.epoch = cut.epoch
        last = Checkpoint(epoch: cut.epoch, position: cut.position)
    }

    /// Begins the next epoch, or `later`, at the log's end. Removes no event and keeps the indexes; removes rows that name later positions.
    mutating func beginEpoch(later: Epoch) throws {
        try Cut.removeRows(beyond: last.position, &transaction, access)
        try begin(max(state.epoch.next, later), at: last.position, Blocks.endLink(transaction.reads, access))
    }

    private mutating func begin(_ epoch: Epoch, at position: Position, _ link: Digest) throws {
        try Epochs.put(epoch, cut: position, link: link, &transaction, access.tables)
        state.epoch = epoch
        last = Checkpoint(epoch: epoch, position: position)
        lastLink = Epochs.link(epoch, cut: position, link: link)
    }

    // MARK: Replicas

    /// Refuses to change what a replica has from its original.
    /// - Throws: `EvstoreError.replica`.
    package func requireOwn() throws {
        guard let replica else { return }
        throw EvstoreError.replica(path: Directory.parent(of: access.environment.directory), source: replica.source)
    }

    /// Allows all changes from here on.
    package mutating func isPromoted() { replica = nil }

    /// Reads the log's end again, after blocks or rows were written without the update's own calls.
    package mutating func readEnd() throws {
        last = try Blocks.end(transaction.reads, access)
        lastLink = try Blocks.lastLink(transaction.reads, access, last.epoch)
    }

    mutating func finish() throws {
        if state == before { return }
        var allowed = before
        allowed.generations = state.generations
        if state != allowed { try requireOwn() }
        try StateRows.put(state, &transaction, access.tables)
        guard let node else { return }
        var own = state
        (own.live, own.generations, own.indexed) = (before.live, before.generations, before.indexed)
        if own != before { shared.append(.numbers(state)) }
        if state.live != before.live { try putNode(node, live: state.live) }
    }

    /// Makes the store one that is alone, in an epoch of its own: the cluster log goes on with other events at the same positions.
    mutating func becomeAlone() throws {
        try StateRows.removeNode(&transaction, access.tables)
        for row in try rows(.notes, prefix: NodeRow.prefix) { try access.tables[.notes].delete(row.key.lent, &transaction) }
        try beginEpoch(later: .fromClock)
        try StateRows.put(state, &transaction, access.tables)
    }
}
