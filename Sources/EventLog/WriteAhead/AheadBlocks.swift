internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// The events that are acknowledged and not in LMDB yet, in this process's memory: read transactions show their blocks behind those of
/// LMDB. Events of other processes are copied from `log/ahead`, as far as the shared page says that they are acknowledged (`AheadPage`).
final class AheadBlocks: AheadSource {
    private struct State {
        /// Nil where the processes share no page, as far as is known.
        var words: AheadPage?
        var rows = AheadBlocks.newRows()
        /// The rows are the blocks after `base` up to `through`, all of one epoch. LMDB has all blocks up to `base`, which only grows.
        var base = Position.start
        var through = Position.start
        /// At the entry after these rows.
        var walk: WriteAhead.Walk
        var note: [UInt8] = []
        /// The view that was made last, and the end of the LMDB blocks before it.
        var view: (after: Position, view: AheadView)?
        /// The end of LMDB's blocks in the transaction that was read last.
        var seen: (transaction: UInt, end: Checkpoint)?
        var file: File?

        init(_ words: AheadPage?, _ storeTag: UInt64) { (self.words, walk) = (words, WriteAhead.Walk(storeTag, .first)) }

        var epoch: Epoch { walk.epoch }
    }

    private let store: String
    private let storeID: StoreID
    private let tables: Tables
    private let state: Monitor<State>

    init(_ words: AheadPage?, at store: String, _ storeID: StoreID, _ tables: Tables) {
        (self.store, self.storeID, self.tables) = (store, storeID, tables)
        state = Monitor(State(words, storeID.tag))
    }

    private static func newRows() -> AheadRows {
        AheadRows(bytesMax: WriteAhead.fileBytes - WriteAhead.entriesStart, rowsMax: WriteAhead.blocksMax)
    }

    /// Nil where the processes share no page.
    var words: AheadPage? { state.withLock { $0.words } }

    // MARK: For readers

    /// - Throws: where there may be entries ahead, but the page that says how far they are acknowledged can't be read or belongs to another
    ///   store.
    func end() throws(StorageError) -> AheadEnd {
        if let words, words.areValid { return words.end }
        // Without the page nothing is ahead, unless the writers have made the page since, or see another one.
        guard try AheadRecovery.isOpen(at: store) else { return AheadEnd(epoch: 0, last: 0) }
        if words == nil, let page = try TurnPage.lookOnly(store + "/log") {
            let mapped = try AheadPage(page, storeID, at: store)
            state.withLock { $0.words = mapped }
        }
        guard let words, words.areValid else {
            throw StorageError(invalid: "\(store)/log/turn is not the page of those who have written \(store)\(WriteAhead.fileName)")
        }
        return words.end
    }

    func rows(upTo end: AheadEnd, _ transaction: borrowing ReadTransaction) throws(StorageError) -> AheadAnswer {
        if end.last == 0 { return .none }
        let after: Checkpoint
        do { after = try self.end(transaction) } catch let error as StorageError { throw error } catch {
            // A caller that reads the damaged rows gets the error there.
            return .none
        }
        // Order: the end was asked for before the transaction began. If it is of another epoch, it is older than a cut that LMDB shows.
        guard after.position.rawValue < end.last, after.epoch.rawValue == end.epoch else { return .none }
        guard let view = try view(after: after.position, upTo: Position(end.last), after.epoch) else { return .begunTooEarly }
        return .rows(view)
    }

    private func end(_ transaction: borrowing ReadTransaction) throws -> Checkpoint {
        let id = transaction.id
        if let seen = state.withLock({ $0.seen }), seen.transaction == id { return seen.end }
        let end = Checkpoint(epoch: try StateRows.epoch(transaction, tables), position: try Blocks.last(transaction, tables.blocks))
        state.withLock { $0.seen = (id, end) }
        return end
    }

    /// The blocks after a position, at least up to another one. Nil for a transaction that is older than LMDB is known to be, and where the
    /// file no longer has these blocks.
    private func view(after: Position, upTo end: Position, _ epoch: Epoch) throws(StorageError) -> AheadView? {
        try state.withLock { (state) throws(StorageError) -> AheadView? in
            // Order: checked first, so that an older transaction does not take back what this process has, and its writer uses.
            if Guard.laterBase.isOn, state.epoch > epoch || state.epoch == epoch && state.base > after { return nil }
            if state.epoch == epoch, state.through >= end, let known = state.view, known.after == after { return known.view }
            if state.epoch < epoch || state.through < end {
                guard try catchUp(&state, after: after, upTo: end, epoch) else { return nil }
            }
            let start = state.rows.index(of: after.next.rawValue, state.rows.count)
            guard start < state.rows.count, state.rows.key(start) == after.next.rawValue else { return nil }
            let view = AheadView(state.rows, start ..< state.rows.count, of: tables.blocks, note: state.note)
            state.view = (after, view)
            return view
        }
    }

    private func catchUp(_ state: inout State, after: Position, upTo end: Position, _ epoch: Epoch) throws(StorageError) -> Bool {
        if state.file == nil {
            let path = store + WriteAhead.fileName
            if try Directory.status(path) == nil { return false }
            state.file = try File(path, .read)
        }
        let isKnown = state.epoch == epoch && after <= state.through
        if isKnown, try readOn(&state, upTo: end) { return true }
        Self.restart(&state, Checkpoint(epoch: epoch, position: after))
        return try readOn(&state, upTo: end)
    }

    /// Adds the next entries until the rows reach the end; false where they can't.
    private func readOn(_ state: inout State, upTo end: Position) throws(StorageError) -> Bool {
        guard let file = state.file else { return false }
        while state.through < end {
            guard let bytes = try Self.entry(in: file, at: state.walk.offset), let entry = WriteAhead.Entry(whole: bytes.lent) else {
                return false
            }
            let step = state.walk.step(entry, after: state.through)
            switch step {
            case .known: break
            case .new:
                let blocks = bytes.lent.slice(WriteAhead.Entry.headerBytes, entry.blocksBytes)
                guard Self.add(blocks, through: entry.last, &state) else { return false }
                if entry.isOfNode { state.note = Self.note(bytes.lent) }
            case .end: return false
            }
            state.walk.go(past: entry, step)
        }
        return true
    }

    /// The bytes of the entry at an offset; nil where there is none.
    static func entry(in file: File, at offset: Int) throws(StorageError) -> [UInt8]? {
        let start = try file.read(WriteAhead.pageBytes, at: offset)
        guard let entry = WriteAhead.Entry(start.lent) else { return nil }
        return entry.byteCount <= start.count ? start : try file.read(entry.byteCount, at: offset)
    }

    /// Adds blocks that fill the positions up to `last`; false where they don't, and nothing is added.
    private static func add(_ blocks: RawSpan, through last: Position, _ state: inout State) -> Bool {
        var (offset, next, count) = (0, state.through.next, 0)
        while offset < blocks.byteCount {
            guard let block = BlockLayout.block(blocks, at: offset), let end = BlockLayout.last(block, at: next) else { return false }
            (offset, next, count) = (offset + block.byteCount, end.next, count + 1)
        }
        guard next == last.next, state.rows.hasRoom(count, blocks.byteCount) else { return false }
        offset = 0
        while let block = BlockLayout.block(blocks, at: offset) {
            state.rows.append(block.load(UInt64.self, at: BlockLayout.Header.first), block)
            offset += block.byteCount
        }
        (state.through, state.view) = (last, nil)
        return true
    }

    private static func restart(_ state: inout State, _ end: Checkpoint) {
        state.view = nil
        // Views of other threads may still show the rows.
        if isKnownUniquelyReferenced(&state.rows) { state.rows.removeAll() } else { state.rows = newRows() }
        (state.base, state.through, state.note) = (end.position, end.position, [])
        state.walk = WriteAhead.Walk(state.walk.storeTag, end.epoch)
    }

    // MARK: For who has the writer's turn

    /// The walk at the entry after a position, once everything up to it was read; nil where another thread has restarted meanwhile.
    func walk(behind last: Checkpoint) -> WriteAhead.Walk? {
        state.withLock { state in
            state.epoch == last.epoch && state.through == last.position && state.walk.pass != nil ? state.walk : nil
        }
    }

    func hasRoom(_ count: Int, _ bytes: Int) -> Bool { state.withLock { $0.rows.hasRoom(count, bytes) } }

    /// Adds an entry that this process has written. If it does not follow the rows here, readers copy it from the file.
    func add(_ blocks: RawSpan, _ head: WriteAhead.Entry.Head, at offset: Int) {
        state.withLock { state in
            guard state.epoch == head.epoch, state.through.next == head.positions.lowerBound,
                state.walk.pass == nil || state.walk.pass == head.pass, Self.add(blocks, through: head.positions.upperBound, &state)
            else { return }
            let next = offset + WriteAhead.Entry.pagesBytes(ofBlocks: blocks.byteCount)
            state.walk = WriteAhead.Walk(head.storeTag, head.epoch, behind: (next, head.pass))
            if !head.note.isEmpty { state.note = head.note }
        }
    }

    /// Starts again at an end up to which LMDB holds everything durably.
    func restart(_ end: Checkpoint) { state.withLock { Self.restart(&$0, end) } }

    /// Moves the blocks that LMDB lacks into it, within a transaction that is to be durable. O(blocks that are ahead).
    /// - Throws: `EvstoreError.storeDamaged` where acknowledged entries are gone.
    func apply(_ transaction: inout WriteTransaction) throws {
        let end = try end()
        // Read again: the end that is cached for readers is that of a committed transaction.
        let after = try Blocks.last(transaction.reads, tables.blocks)
        guard end.last > after.rawValue, try StateRows.epoch(transaction.reads, tables).rawValue == end.epoch else { return }
        guard let view = try view(after: after, upTo: Position(end.last), Epoch(end.epoch)) else {
            throw EvstoreError.storeDamaged(path: store, reason: "log/ahead: entries that were acknowledged are not there")
        }
        try view.forEach { try transaction.append(tables.blocks, bytes($0).lent, $1) }
        if let (end, last) = Self.node(view.note), var node = try StateRows.node(transaction.reads, tables) {
            (node.end, node.last) = (end, last)
            try StateRows.put(node, &transaction, tables)
        }
    }

    // MARK: Of a node

    /// The note of a node's entry: the frame that the entry was made from, and the log's last position after it.
    static func note(_ end: ClusterLogEnd, last: Position) -> [UInt8] { bytes(end.number) + bytes(last.rawValue) + end.link }

    /// Reads the note of a node's entry.
    static func note(_ entry: RawSpan) -> [UInt8] {
        [UInt8](copying: entry.slice(WriteAhead.Entry.noteStart, WriteAhead.Entry.noteBytes))
    }

    /// Nil where there is no note, or no node can have written it.
    static func node(_ note: [UInt8]) -> (end: ClusterLogEnd, last: Position)? {
        guard note.count == WriteAhead.Entry.noteBytes else { return nil }
        let end = ClusterLogEnd(number: note.lent.load(UInt64.self, at: 0), link: Array(note[16...]))
        let last = Position(note.lent.load(UInt64.self, at: 8))
        return last <= .largest && end.number <= Position.largest.rawValue ? (end, last) : nil
    }
}
