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

    /// Written at the end if it was changed.
    package var state: StoreState
    package private(set) var last: Checkpoint
    /// What the next block links to.
    package private(set) var lastLink: Digest

    static func begin(_ transaction: consuming WriteTransaction, _ access: LogAccess, _ moment: Moment) throws -> LogUpdate {
        let state = try StateRows.state(transaction.reads, access.tables)
        let link = try Blocks.lastLink(transaction.reads, access, moment.epoch)
        return LogUpdate(transaction, access, moment, state, link)
    }

    private init(
        _ transaction: consuming WriteTransaction, _ access: LogAccess, _ moment: Moment, _ state: StoreState, _ link: Digest
    ) {
        self.transaction = transaction
        (self.access, self.moment, self.state, before) = (access, moment, state, state)
        last = Checkpoint(epoch: moment.epoch, position: moment.last)
        lastLink = link
    }

    package func get(_ catalogue: Catalogue, _ key: [UInt8]) throws -> [UInt8]? {
        try Rows.get(key, transaction.reads, access.tables[catalogue])
    }

    package mutating func put(_ catalogue: Catalogue, _ key: [UInt8], _ value: [UInt8]) throws {
        try Rows.check(key, catalogue)
        try access.tables[catalogue].put(key.lent, value.lent, &transaction)
    }

    package mutating func delete(_ catalogue: Catalogue, _ key: [UInt8]) throws {
        try access.tables[catalogue].delete(key.lent, &transaction)
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
        if state != before { try StateRows.put(state, &transaction, access.tables) }
    }
}
