internal import Bytes
package import EventModel
package import Hashing
package import LMDB
internal import Platform

/// The state that all threads share for reading the log.
package final class LogAccess: Sendable {
    package let environment: Environment
    package let tables: Tables
    package let names: TypeNames
    package let storeID: StoreID
    let isSealed: Bool
    /// Whether the order of the events came from elsewhere when the log was opened.
    let isOrderedElsewhere: Bool
    /// The events that LMDB does not have yet; nil in a store of an older format, where LMDB has all.
    let ahead: AheadBlocks?
    let sealsBlocks: Bool
    /// The keys of a sealed store; nil where its events are not sealed, or no payload is read or written.
    package let keys: StoreKeys?

    init(_ environment: Environment, of store: StoreIdentity, _ keys: StoreKeys? = nil) throws(StorageError) {
        let tables = try Tables(environment, of: store, keys?.codes)
        (self.environment, self.tables, names) = (environment, tables, TypeNames())
        (storeID, isSealed, sealsBlocks, self.keys) = (store.id, store.isSealed, store.sealsBlocks, keys)
        isOrderedElsewhere = store.isOrderedElsewhere
        guard store.goesAhead else {
            ahead = nil
            return
        }
        let path = Directory.parent(of: environment.directory)
        let words = try environment.sharedPage().map { page throws(StorageError) in try AheadPage(page, store.id, at: path) }
        ahead = environment.joinAhead { AheadBlocks(words, at: path, store.id, tables) } as? AheadBlocks
    }

    /// Lends a block with its records opened if they are sealed.
    func open<R>(
        _ block: borrowing BlockView, _ transaction: borrowing ReadTransaction, persons: RecordOpener.PersonalPartPolicy = .opened,
        _ body: (borrowing BlockView) throws -> R
    ) throws -> R {
        do { return try open(block, persons, body) } catch let damage as SlotDamage { throw try error(damage, transaction) }
    }

    private func open<R>(
        _ block: borrowing BlockView, _ persons: RecordOpener.PersonalPartPolicy, _ body: (borrowing BlockView) throws -> R
    ) throws -> R {
        guard block.isSealed else { return try body(block) }
        let isWhole = block.isWhole
        return try withOpener { opener in
            try opener.lend(block, persons) { opened in
                // Order: names of types are learned only from an opened block, which is thereby proved.
                if isWhole { opened.learn(names) }
                return try body(opened)
            }
        }
    }

    func open<R>(
        _ record: borrowing RecordView, _ transaction: borrowing ReadTransaction, _ body: (borrowing RecordView) throws -> R
    ) throws -> R {
        do { return try open(record, body) } catch let damage as SlotDamage { throw try error(damage, transaction) }
    }

    /// Lends one record, opened if it is sealed. Does not convert `SlotDamage`: for a caller that handles damaged keys itself.
    func open<R>(_ record: borrowing RecordView, _ body: (borrowing RecordView) throws -> R) throws -> R {
        guard record.isSealed else { return try body(record) }
        return try withOpener { try $0.lend(record, body) }
    }

    /// Checks that a record of a sealed store is as it was sealed, including its fields that are not encrypted.
    func prove(_ record: borrowing RecordView) throws {
        if record.isSealed { try withOpener { try $0.prove(record) } }
    }

    /// Lends a block as if all personal data had been forgotten.
    package func openWithoutPersons<R>(_ block: borrowing BlockView, _ body: (borrowing BlockView) throws -> R) throws -> R {
        try open(block, .left, body)
    }

    private func error(_ damage: SlotDamage, _ transaction: borrowing ReadTransaction) throws -> EvstoreError {
        .storeDamaged(path: keys?.store ?? "", reason: damage.words(of: try name(ofStream: damage.stream, transaction)))
    }

    func name(ofStream id: UInt64, _ transaction: borrowing ReadTransaction) throws -> StreamName? {
        guard id > 0, let record = try Blocks.record(at: Position(id), transaction, self) else { return nil }
        return record.streamName
    }

    private func withOpener<R>(_ body: (inout RecordOpener) throws -> R) throws -> R {
        guard let keys else {
            throw EvstoreError.keysRefused(path: environment.directory, reason: "its events are sealed, and no key was given")
        }
        return try keys.withOpener(storeID, body)
    }
}

/// Finds blocks in the table `blocks`, and checks them before any part of them is used.
package enum Blocks {
    /// The end of the log: its last position, and its current epoch.
    package static func end(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Checkpoint {
        Checkpoint(epoch: try StateRows.epoch(transaction, access.tables), position: try last(transaction, access))
    }

    /// The position of the last event, without reading the records of its block.
    package static func last(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Position {
        try last(transaction, access.tables.blocks)
    }

    static func last(_ transaction: borrowing ReadTransaction, _ table: Table) throws -> Position {
        var cursor = transaction.cursor(table)
        guard try cursor.last() else { return .start }
        let first = try position(cursor.key)
        guard cursor.value.byteCount >= BlockLayout.headerBytes else {
            throw EvstoreError.corruptBlock(position: first, reason: "the block is shorter than its header")
        }
        let count = UInt64(cursor.value.load(UInt32.self, at: BlockLayout.Header.count))
        guard first > .start, first <= .largest, count > 0 else {
            throw EvstoreError.corruptBlock(position: first, reason: "block position out of range")
        }
        return first.plus(count - 1)
    }

    /// The block that holds a position; nil where the log does not reach it.
    @_lifetime(borrow transaction)
    static func holding(_ position: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> BlockView? {
        var cursor = transaction.cursor(access.tables.blocks)
        guard try seek(&cursor, holding: position) else { return nil }
        let block = try view(cursor, access)
        return position <= block.last ? block : nil
    }

    /// The event at a position, checked without the rest of its block; nil where the log does not reach it.
    @_lifetime(borrow transaction)
    package static func record(at position: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> RecordView? {
        var cursor = transaction.cursor(access.tables.blocks)
        return try record(at: position, &cursor, access)
    }

    /// Finds the event at a position with a cursor that is reused.
    @_lifetime(copy cursor)
    @_lifetime(cursor: copy cursor)
    static func record(at position: Position, _ cursor: inout Cursor, _ access: LogAccess) throws -> RecordView? {
        guard try seek(&cursor, holding: position) else { return nil }
        let first = try self.position(cursor.key)
        let start = try BlockLayout.checkRecord(cursor.value, at: position, after: first, storeTag: access.storeID.tag)
        if let start {
            let record = RecordView(cursor.value, at: start, position)
            try checkSealed(record.isSealed, first, access)
            if access.names.knows(record.type) { return record }
        }
        let block = try view(cursor, access)
        return position <= block.last ? block.record(Int(clamping: position.events(after: first))) : nil
    }

    /// Whether two events were appended together. Looks at those between them, unless their blocks are of different commits: an append is
    /// in one commit, whose blocks all have its time.
    @_lifetime(cursor: copy cursor)
    static func areTogether(_ first: Position, _ last: Position, _ cursor: inout Cursor, _ access: LogAccess) throws -> Bool {
        guard try continuesAppend(last, &cursor, access), try seek(&cursor, holding: last) else { return false }
        if try first < self.position(cursor.key) {
            let time = try view(cursor, access).time
            guard try seek(&cursor, holding: first), try view(cursor, access).time == time else { return false }
        }
        var at = last.previous
        while at > first {
            guard try continuesAppend(at, &cursor, access) else { return false }
            at = at.previous
        }
        return true
    }

    /// Whether the event at a position was appended together with the one before it. Checks it without opening it.
    @_lifetime(cursor: copy cursor)
    private static func continuesAppend(_ position: Position, _ cursor: inout Cursor, _ access: LogAccess) throws -> Bool {
        guard let record = try record(at: position, &cursor, access) else { return false }
        try access.prove(record)
        return record.continuesAppend
    }

    /// Moves to the last block that begins at or before a position; false where there is none.
    @_lifetime(cursor: copy cursor)
    static func seek(_ cursor: inout Cursor, holding position: Position) throws -> Bool {
        if try !cursor.seek(position.rawValue) { return try cursor.last() }
        if try self.position(cursor.key) == position { return true }
        return try cursor.previous()
    }

    /// Lends the checked blocks that have events after a position, until `body` returns false.
    package static func forEach(
        after position: Position, _ transaction: borrowing ReadTransaction, _ access: LogAccess,
        _ body: (borrowing BlockView) throws -> Bool
    ) throws {
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try seek(&cursor, holding: position.next)
        while isThere {
            let block = try view(cursor, access)
            if block.last > position, try !body(block) { return }
            isThere = try cursor.next()
        }
    }

    @_lifetime(copy cursor)
    static func view(_ cursor: borrowing Cursor, _ access: LogAccess) throws -> BlockView {
        try checked(cursor.value, at: position(cursor.key), access)
    }

    /// The block at a cursor, for a caller that opens it (`LogAccess.open`) before it uses any part of it; a block that is not sealed as a
    /// whole is proved here.
    @_lifetime(copy cursor)
    static func viewToOpen(_ cursor: borrowing Cursor, _ access: LogAccess) throws -> BlockView {
        let first = try position(cursor.key)
        let block = try BlockView(checking: cursor.value, at: first, storeTag: access.storeID.tag)
        try checkSealed(block.isSealed, first, access)
        if block.isWhole { return block }
        try prove(block, access)
        block.learn(access.names)
        return block
    }

    /// Checks the code of a block that is not opened.
    static func prove(_ block: borrowing BlockView, _ access: LogAccess) throws(EvstoreError) {
        if let keys = access.keys, !block.isCoded(by: keys.codes) { throw forged(block.first) }
    }

    /// Checks a block by rules 1 to 6 and 8, and learns its names of types.
    @_lifetime(copy bytes)
    package static func checked(_ bytes: RawSpan, at first: Position, _ access: LogAccess) throws(EvstoreError) -> BlockView {
        let block = try checkedWithoutNames(bytes, at: first, access)
        block.learn(access.names)
        return block
    }

    /// Checks a block that is not in the log yet, and does not learn its names of types, which must not be known before the block is added.
    @_lifetime(copy bytes)
    static func checkedWithoutNames(_ bytes: RawSpan, at first: Position, _ access: LogAccess) throws(EvstoreError) -> BlockView {
        let block = try BlockView(checking: bytes, at: first, storeTag: access.storeID.tag)
        try checkSealed(block.isSealed, first, access)
        // Order: the code is checked before any name is taken from the block.
        try prove(block, access)
        return block
    }

    package static func forged(_ first: Position) -> EvstoreError {
        .corruptBlock(position: first, reason: "its code is not one that the store's keys make: somebody else has written it")
    }

    /// Rule 8: refuses a block that is not sealed in a sealed store, since anybody could have written it.
    static func checkSealed(_ isSealed: Bool, _ first: Position, _ access: LogAccess) throws(EvstoreError) {
        if isSealed != access.isSealed {
            throw .corruptBlock(
                position: first, reason: isSealed ? "it is sealed, and the store is not" : "it is not sealed, and the store is")
        }
    }

    static func position(_ key: RawSpan) throws -> Position {
        guard key.byteCount == 8 else {
            throw EvstoreError.corruptBlock(position: .start, reason: "a key of the table blocks has the wrong length")
        }
        return Position(key.load(UInt64.self, at: 0))
    }

    /// The link for the next block: that of the last block, or that of the epoch's beginning.
    static func lastLink(_ transaction: borrowing ReadTransaction, _ access: LogAccess, _ epoch: Epoch) throws -> Digest {
        var cursor = transaction.cursor(access.tables.blocks)
        if try cursor.last() {
            let block = try view(cursor, access)
            if block.epoch == epoch { return block.link }
        }
        return try start(of: epoch, transaction, access)
    }

    /// The link of the last block, whatever its epoch.
    package static func endLink(_ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Digest {
        var cursor = transaction.cursor(access.tables.blocks)
        return try cursor.last() ? view(cursor, access).link : Epochs.genesis(access.storeID)
    }

    /// The link that a block continues: that of the block before it, or that of its epoch's beginning.
    static func link(before block: BlockView, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Digest {
        if block.first > Position(1), let previous = try holding(block.first.previous, transaction, access),
            previous.epoch == block.epoch
        {
            return previous.link
        }
        return try start(of: block.epoch, transaction, access)
    }

    static func start(of epoch: Epoch, _ transaction: borrowing ReadTransaction, _ access: LogAccess) throws -> Digest {
        guard let cut = try Epochs.cut(epoch, transaction, access.tables) else { return Epochs.genesis(access.storeID) }
        return Epochs.link(epoch, cut: cut.at, link: cut.link)
    }
}
