internal import Bytes
package import EventModel
package import LMDB
internal import Platform

extension EventLog {
    /// Long work: lends the blocks that hold events in (after, through] and may hold one of `types`, in chunks of short read transactions,
    /// until `body` returns false or the log ends. Only `block.indices` lie in the range; a block may hold other types too. The reader
    /// belongs to the chunk's transaction, so that lookups for an event see the same log as the event.
    /// - Parameters:
    ///   - epoch: the epoch of `after`, if it was noted earlier.
    ///   - form: how the blocks of a sealed store are lent.
    /// - Throws: `EvstoreError.epochChanged` where a cut has removed events that were lent, or `after` itself.
    package func scan(
        after: Position, in epoch: Epoch? = nil, through: Position? = nil, types: Set<Name>? = nil, form: LogScan.Form = .opened,
        _ body: (borrowing BlockView, borrowing LogReader) throws -> Bool
    ) throws {
        var scan = LogScan(access, options, after: after, in: epoch, through: through, types: types, form: form)
        while try read({ reader in try scan.runChunk(reader.transaction) { block in try body(block, reader) } }) {}
    }
}

/// The state of a scan between its chunks.
package struct LogScan {
    private let access: LogAccess
    private let options: Options
    private let through: Position
    private let types: Set<Name>?
    private let form: Form
    package private(set) var done: Position
    private var epoch: Epoch?

    /// How the blocks of a sealed store are lent.
    package enum Form: Equatable {
        case opened
        /// Opened except for the personal parts of events of these types and birth versions (`RecordView.isClosed`).
        case openedExceptPersons(of: [EventKind])
        /// Opened except for personal parts, as if all of these had been forgotten.
        case withoutPersons
        /// Sealed, in the form of the log.
        case sealed
    }

    /// - Parameter epoch: the epoch of `after`, if it was noted earlier.
    package init(
        _ access: LogAccess, _ options: Options, after: Position, in epoch: Epoch? = nil, through: Position? = nil,
        types: Set<Name>? = nil, form: Form = .opened
    ) {
        (self.access, self.options, done, self.epoch, self.types, self.form) = (access, options, after, epoch, types, form)
        self.through = through ?? Position(.max)
    }

    /// Lends blocks for as long as one read transaction may last; false where the scan has ended.
    package mutating func runChunk(_ transaction: borrowing ReadTransaction, _ body: (borrowing BlockView) throws -> Bool) throws -> Bool {
        try checkEpoch(transaction)
        let wanted = try types.map { try WantedTypes($0, transaction, access.tables) }
        if let wanted, wanted.ids.isEmpty { return false }
        let persons = try personalParts(transaction)
        let end = ContinuousClock.Instant.within(options.readSlice)
        var bytes = 0
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try Blocks.seek(&cursor, holding: done.next) || cursor.first()
        while isThere {
            if try Blocks.position(cursor.key) > through { return false }
            var block = try form == .sealed ? Blocks.view(cursor, access) : Blocks.viewToOpen(cursor, access)
            var isProved = form == .sealed || !block.isWhole
            if block.last > done {
                let from = block.index(after: done)
                let to = block.last <= through ? block.count : block.index(after: through)
                block.indices = from ..< max(from, to)
                done = min(block.last, through)
                if !block.indices.isEmpty, wanted.map({ block.holds(anyOf: $0) }) ?? true {
                    isProved = true
                    if try !lend(block, transaction, persons, body) { return false }
                }
                bytes += block.bytes.byteCount
            }
            // A skipped block was judged by its own header: prove it.
            if !isProved { try Blocks.prove(block, access) }
            if done >= through { return false }
            isThere = try cursor.next()
            if bytes >= options.readSliceBytes || ContinuousClock.now >= end { return isThere }
        }
        return false
    }

    private func lend(
        _ block: borrowing BlockView, _ transaction: borrowing ReadTransaction, _ persons: RecordOpener.PersonalPartPolicy,
        _ body: (borrowing BlockView) throws -> Bool
    ) throws -> Bool {
        if form == .sealed { try body(block) } else { try access.open(block, transaction, persons: persons, body) }
    }

    private func personalParts(_ transaction: borrowing ReadTransaction) throws -> RecordOpener.PersonalPartPolicy {
        switch form {
        case .opened, .sealed: return .opened
        case .withoutPersons: return .left
        case .openedExceptPersons(let kinds):
            var closed: Set<IndexEntries.CensusKey> = []
            for kind in kinds {
                guard let type = try Indexes.type(kind.type, transaction, access.tables) else { continue }
                closed.insert(IndexEntries.CensusKey(type: type, born: kind.born.rawValue))
            }
            return .leftClosed(RecordOpener.ClosedKinds(keys: closed))
        }
    }

    private mutating func checkEpoch(_ transaction: borrowing ReadTransaction) throws {
        let now = try StateRows.numbers(transaction, access.tables).epoch
        if let epoch, now > epoch {
            let seen = Checkpoint(epoch: epoch, position: done)
            if let cut = try seen.cutOff(by: Epochs.all(transaction, access.tables)) {
                throw EvstoreError.epochChanged(seen: seen, cut: cut)
            }
        }
        epoch = now
    }
}

/// The ids of types, with their mask in the form of a block's mask.
package struct WantedTypes {
    fileprivate var ids: Set<TypeID> = []
    fileprivate var mask: UInt64 = 0

    /// An unknown type has no events.
    fileprivate init(_ types: Set<Name>, _ transaction: borrowing ReadTransaction, _ tables: Tables) throws {
        for type in types {
            guard let id = try Indexes.type(type.text, transaction, tables) else { continue }
            ids.insert(id)
            mask |= 1 << UInt64(id % 64)
        }
    }
}

extension BlockView {
    /// Whether the block has one of the types: compares the mask first, then the names of the types.
    fileprivate func holds(anyOf wanted: WantedTypes) -> Bool {
        mask & wanted.mask != 0 && types.contains { wanted.ids.contains($0.id) }
    }
}

extension LogReader {
    package func wanted(_ types: Set<Name>) throws -> WantedTypes { try WantedTypes(types, transaction, access.tables) }

    /// Lends the records of the block that holds a position, from there back to the block's first one, until `body` returns false.
    /// - Parameter wanted: a block that has none of these types is passed over; nil lends every block.
    /// - Returns: the block's first position where it was passed over.
    /// - Throws: `EvstoreError.corruptBlock` if no block holds the position.
    package func blockBackwards(
        from position: Position, types wanted: WantedTypes? = nil, _ body: (borrowing RecordView) throws -> Bool
    ) throws -> Position? {
        guard var block = try Blocks.holding(position, transaction, access) else {
            throw EvstoreError.corruptBlock(position: position, reason: "there is no such event")
        }
        if let wanted, !block.holds(anyOf: wanted) { return block.first }
        block.indices = 0 ..< block.index(after: position)
        _ = try access.open(block, transaction) { block in
            for index in block.indices.reversed() where try !body(block.record(index)) { break }
            return false
        }
        return nil
    }
}
