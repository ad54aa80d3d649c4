internal import Bytes
package import EventModel
package import Hashing
package import LMDB

/// Changes other than appends, made in one durable transaction: all of them or none.
package struct LogUpdate: ~Copyable {
    package var transaction: WriteTransaction
    let access: LogAccess
    private let moment: Moment
    private let before: StoreState
    private var hasCut = false
    /// The node that makes the update; nil where the store belongs to no cluster log.
    package let node: Membership?
    private var sharedRows = ByteBuffer(capacity: 16)
    /// Whether the node is taken out of the cluster log by it.
    private(set) var isLeaving = false

    /// Written at the end if it was changed.
    package var state: StoreState
    package private(set) var last: Checkpoint
    /// What the next block links to.
    package private(set) var lastLink: Digest

    static func begin(
        _ transaction: consuming WriteTransaction, _ access: LogAccess, _ moment: Moment, _ node: Membership? = nil
    ) throws -> LogUpdate {
        let state = try StateRows.state(transaction.reads, access.tables)
        let link = try Blocks.lastLink(transaction.reads, access, moment.epoch)
        return LogUpdate(transaction, access, moment, (state, link), node)
    }

    private init(
        _ transaction: consuming WriteTransaction, _ access: LogAccess, _ moment: Moment, _ now: (state: StoreState, link: Digest),
        _ node: Membership?
    ) {
        self.transaction = transaction
        (self.access, self.moment, state, before, self.node) = (access, moment, now.state, now.state, node)
        last = Checkpoint(epoch: moment.epoch, position: moment.last)
        lastLink = now.link
    }

    package func get(_ catalogue: Catalogue, _ key: [UInt8]) throws -> [UInt8]? {
        try Rows.get(key, transaction.reads, access.tables[catalogue])
    }

    package mutating func put(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8]) throws {
        try Rows.check(key, catalogue)
        try access.tables[catalogue].put(key.lent, value.lent, &transaction)
        share(catalogue, key, value)
    }

    package mutating func delete(_ catalogue: Catalogue, _ key: [UInt8]) throws {
        try access.tables[catalogue].delete(key.lent, &transaction)
        share(catalogue, key, nil)
    }

    private mutating func share(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8]?) {
        guard let node, SharedRows.has(catalogue, key) else { return }
        SharedRows.append(catalogue.rawValue, key, value, to: &sharedRows)
        if value == nil, key == NodeRow.key(node.node) { isLeaving = true }
    }

    /// The rows whose key begins with `prefix`, in the order of their keys.
    package func rows(_ catalogue: Catalogue, prefix: [UInt8] = []) throws -> [(key: [UInt8], value: [UInt8])] {
        try Rows.all(prefix, transaction.reads, access.tables[catalogue])
    }

    /// The link of the block that holds a position.
    package func link(at position: Position) throws -> Digest? {
        position > .start ? try Blocks.holding(position, transaction.reads, access)?.link : nil
    }

    /// Adds a row to the journal under the next free number.
    package mutating func appendJournal(_ json: [UInt8]) throws {
        let number = try lastJournalNumber() + 1
        try access.tables[.journal].put(sortable(number).lent, json.lent, &transaction)
    }

    private func lastJournalNumber() throws -> UInt64 {
        guard let key = try access.tables[.journal].lastKey(transaction.reads), key.count == 8 else {
            return 0
        }
        return key.lent.load(UInt64.self, at: 0).byteSwapped
    }

    /// Exact as of `last`.
    /// - Throws: `EvstoreError.misuse` after a cut in the same update, which leaves the indexes to be built again.
    package func census() throws -> [CensusRow] {
        if hasCut { throw EvstoreError.misuse("the census is counted anew after a cut; ask for it after the update") }
        return try CensusRow.rows(
            moment.census(transaction.reads, access), names: Indexes.types(transaction.reads, access.tables))
    }

    /// Removes every event after `position` and begins the next epoch, or `later`. The indexes are emptied and
    /// rebuilt from the log; import marks beyond the position are removed.
    package mutating func cut(to position: Position, later: Epoch? = nil) throws {
        guard position <= last.position else {
            throw EvstoreError.misuse("a cut at \(position) lies beyond the last event, \(last.position)")
        }
        if let node, !isLeaving {
            throw EvstoreError.clusterMismatch(
                log: node.log, reason: "a cut would take events from every other node",
                how: "leave the cluster log first, or go back to the version before: that keeps all events")
        }
        let epoch = max(state.epoch.next, later ?? .first)
        let link = try Cut.run(to: position, &transaction, access)
        try Epochs.put(epoch, cut: position, link: link, &transaction, access.tables)
        state.epoch = epoch
        state.indexed = .start
        for index in access.tables.positionIndexes {
            try index.put(mark: Checkpoint(epoch: epoch, position: .start), &transaction)
        }
        last = Checkpoint(epoch: epoch, position: position)
        lastLink = Epochs.link(epoch, cut: position, link: link)
        hasCut = true
    }

    /// Writes what was changed of `state`.
    mutating func finish() throws {
        if state == before { return }
        try StateRows.put(state, &transaction, access.tables)
        guard let node else { return }
        if !SharedRows.areSame(state, before) { SharedRows.append(state, to: &sharedRows) }
        if state.live != before.live { try putNode(node, live: state.live) }
    }

    /// Makes the store one that is alone, in an epoch of its own: the cluster log goes on with other events at the same positions.
    mutating func becomeAlone() throws {
        try StateRows.removeNode(&transaction, access.tables)
        for row in try rows(.notes, prefix: NodeRow.prefix) { try access.tables[.notes].delete(row.key.lent, &transaction) }
        try cut(to: last.position, later: Epoch(UInt32(clamping: Timestamp.now.microseconds / 1_000_000)))
        try StateRows.put(state, &transaction, access.tables)
    }

    /// The rows that every node of the cluster log gets; nil where none was changed.
    var shared: [UInt8]? { sharedRows.count == 0 ? nil : sharedRows.array() }
}
