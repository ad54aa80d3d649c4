internal import Bytes
package import EventModel
internal import Hashing
package import LMDB

/// Takes blocks into the log that were written elsewhere, one after the other: those ahead of LMDB, and those of a cluster. Each must
/// follow the block before it.
package struct BlockIntake {
    private let access: LogAccess
    private let epochs: ClosedRange<Epoch>
    package private(set) var last: Position
    private var epoch: Epoch
    private var link: Digest
    private let checksLinks: Bool

    /// - Parameters:
    ///   - isOfThisEpoch: whether every block must be of the store's epoch; else of any epoch up to it, as in a whole log.
    ///   - checksLinks: false where the whole log is verified before it is used.
    package init(
        _ transaction: borrowing ReadTransaction, _ access: LogAccess, isOfThisEpoch: Bool, checksLinks: Bool = true
    ) throws {
        (self.access, self.checksLinks) = (access, checksLinks)
        let now = try StateRows.numbers(transaction, access.tables).epoch
        epochs = (isOfThisEpoch ? now : .first) ... now
        last = try Blocks.last(transaction, access)
        if isOfThisEpoch {
            (epoch, link) = (now, try Blocks.lastLink(transaction, access, now))
        } else {
            let block = try Blocks.holding(last, transaction, access)
            (epoch, link) = (block?.epoch ?? .first, try Blocks.endLink(transaction, access))
        }
    }

    /// Takes in blocks that lie one after the other. Skips those that the log has already.
    /// - Returns: where a block does not follow the one before it, which ends the intake; nil where all follow.
    /// - Throws: `EvstoreError.corruptBlock`.
    package mutating func add(_ blocks: RawSpan, _ transaction: inout WriteTransaction) throws -> Position? {
        var offset = 0
        while offset < blocks.byteCount {
            switch try addFirst(of: blocks.slice(offset, blocks.byteCount - offset), &transaction) {
            case .taken(let size): offset += size
            case .gap(let position): return position
            }
        }
        return nil
    }

    /// What became of a block: it was taken in, or the log has it, and its size; or it does not follow.
    private enum Step {
        case taken(Int)
        case gap(Position)
    }

    private mutating func addFirst(of rest: RawSpan, _ transaction: inout WriteTransaction) throws -> Step {
        let isWhole = rest.byteCount >= BlockLayout.headerBytes
        let claimed = isWhole ? Int(rest.load(UInt32.self, at: BlockLayout.Header.bytes)) : 0
        let text = rest.slice(0, min(claimed, rest.byteCount))
        if isWhole, let step = try known(text, transaction.reads) { return step }
        let block = try Blocks.checkedWithoutNames(text, at: last.next, access)
        guard epochs.contains(block.epoch), block.epoch >= epoch else { return .gap(last.next) }
        if checksLinks {
            let before = block.epoch == epoch ? link : try Blocks.start(of: block.epoch, transaction.reads, access)
            guard BlockDraft.link(after: before, block.body) == block.link else { return .gap(last.next) }
        }
        try transaction.append(access.tables.blocks, bytes(block.first.rawValue).lent, block.bytes)
        for (id, name) in block.types { guard try put(id, name, &transaction) else { return .gap(last.next) } }
        (last, epoch, link) = (block.last, block.epoch, block.link)
        return .taken(block.bytes.byteCount)
    }

    /// Registers a type's name; false where the name has another number, or the number another name.
    private func put(_ id: TypeID, _ name: String, _ transaction: inout WriteTransaction) throws -> Bool {
        if let known = try Indexes.type(name, transaction.reads, access.tables) { return known == id }
        if try Indexes.types(transaction.reads, access.tables).contains(where: { $0.key == id }) { return false }
        try access.tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction)
        return true
    }

    /// Compares a block with what the log has there, byte for byte; nil for a block after the log's end.
    private func known(_ text: RawSpan, _ transaction: borrowing ReadTransaction) throws -> Step? {
        let first = Position(text.byteCount < BlockLayout.headerBytes ? 0 : text.load(UInt64.self, at: BlockLayout.Header.first))
        guard first > .start, first <= last else { return nil }
        guard let own = try Blocks.holding(first, transaction, access), own.bytes.equals(text) else { return .gap(first) }
        return .taken(text.byteCount)
    }
}
