internal import Bytes
package import EventModel
package import Hashing
internal import LMDB

/// What a replica's log takes in, and how a replica becomes a store of its own.
extension LogUpdate {
    /// Takes in blocks that follow the log's end; the store's rows know their epochs already.
    /// - Throws: `EvstoreError.corruptBlock`.
    package mutating func takeIn(_ blocks: RawSpan) throws {
        var intake = try BlockIntake(transaction.reads, access, isOfThisEpoch: false)
        do { try intake.add(blocks, &transaction) } catch let gap as BlockGap {
            throw EvstoreError.corruptBlock(position: gap.position, reason: "it does not follow the block before it")
        }
        try readEnd()
    }

    /// Marks the store as a replica, or updates its mark.
    package mutating func put(_ mark: ReplicaMark) throws {
        try StateRows.put(mark, &transaction, access.tables)
        try readEnd()
    }

    /// The link of the log's last block.
    package func endLink() throws -> Digest { try Blocks.endLink(transaction.reads, access) }

    /// Makes a replica a store of its own, in the next epoch or `later`, since its original may go on with other events.
    package mutating func promote(later: Epoch) throws {
        try StateRows.removeReplica(&transaction, access.tables)
        isPromoted()
        try beginEpoch(later: later)
    }
}
