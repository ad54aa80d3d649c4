internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// The events that are acknowledged and not in LMDB yet, as this process has them in memory: read transactions show their blocks behind
/// those of LMDB. What other processes have added is copied from `log/ahead`, up to where the page that all share says that it is
/// acknowledged (`AheadWords`).
final class AheadBlocks: AheadSource {
    private struct State {
        /// Nil where the processes share no page, as far as is known.
        var words: AheadWords?
        var rows = AheadBlocks.newRows()
        /// The rows are the blocks behind `base` up to `through`, all of one epoch. LMDB has all up to `base`, which only rises.
        var base = Position.start
        var through = Position.start
        /// Is at the entry behind them.
        var walk: WriteAhead.Walk
        var note: [UInt8] = []
        /// The view that was made last, and the end of LMDB's blocks before it.
        var view: (after: Position, view: AheadView)?
        /// Where LMDB's blocks end as of the transaction that was looked at last.
        var seen: (transaction: UInt, end: Checkpoint)?
        var file: File?

        init(_ words: AheadWords?, _ storeTag: UInt64) { (self.words, walk) = (words, WriteAhead.Walk(storeTag, .first)) }

        var epoch: Epoch { walk.epoch }
    }

    private let store: String
    private let storeID: StoreID
    private let tables: Tables
    private let state: Monitor<State>

    init(_ words: AheadWords?, at store: String, _ storeID: StoreID, _ tables: Tables) {
        (self.store, self.storeID, self.tables) = (store, storeID, tables)
        state = Monitor(State(words, storeID.tag))
    }

    private static func newRows() -> AheadRows {
        AheadRows(bytesMax: WriteAhead.fileBytes - WriteAhead.entriesStart, rowsMax: WriteAhead.blocksMax)
    }

    /// Nil where the processes share no page.
    var words: AheadWords? { state.withLock { $0.words } }

    // MARK: For readers

    /// - Throws: where entries may be ahead, and the page that says up to where can't be read or is another store's.
    func end() throws(StorageError) -> AheadEnd {
        if let words, words.areValid { return words.end }
        // Nothing is ahead without the page of those who write it, unless they have made it since, or see another one.
        guard try AheadRecovery.isOpen(at: store) else { return AheadEnd(epoch: 0, last: 0) }
        if words == nil, let page = try TurnPage.lookOnly(store + "/log") {
            let mapped = try AheadWords(page, storeID, at: store)
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
            // Whoever reads what is damaged there is told.
            return .none
        }
        // Order: the end was asked for before the transaction began, so that one of another epoch is older than a cut that LMDB shows.
        guard after.position.rawValue < end.last, after.epoch.rawValue == end.epoch else { return .none }
        guard let view = try view(after: after.position, upTo: Position(end.last), after.epoch) else { return .begunTooEarly }
        return .rows(view)
    }

    /// Where LMDB's blocks end.
    private func end(_ transaction: borrowing ReadTransaction) throws -> Checkpoint {
        let id = transaction.id
        if let seen = state.withLock({ $0.seen }), seen.transaction == id { return seen.end }
        let end = Checkpoint(epoch: try StateRows.epoch(transaction, tables), position: try Blocks.last(transaction, tables.blocks))
        state.withLock { $0.seen = (id, end) }
        return end
    }

    /// The blocks behind a position up to another one, at least; nil for a transaction that is older than what LMDB has been seen to have,
    /// and where the file has them no more.
    private func view(after: Position, upTo end: Position, _ epoch: Epoch) throws(StorageError) -> AheadView? {
        try state.withLock { (state) throws(StorageError) -> AheadView? in
            // Order: who is behind never takes back what this process has, and the one who writes with it.
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

    private func catchUp(
        _ state: inout State, after: Position, upTo end: Position, _ epoch: Epoch
    ) throws(StorageError) -> Bool {
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

    /// Adds the entries that follow, until the rows reach the end; false where they don't.
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

    /// The bytes of the entry that begins at an offset; nil where none does.
    static func entry(in file: File, at offset: Int) throws(StorageError) -> [UInt8]? {
        let start = try file.read(WriteAhead.pageBytes, at: offset)
        guard let entry = WriteAhead.Entry(start.lent) else { return nil }
        return entry.byteCount <= start.count ? start : try file.read(entry.byteCount, at: offset)
    }

    /// Adds blocks that fill the positions up to `last`; false, and nothing is added, where they don't.
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
        // Views of others may show the rows.
        if isKnownUniquelyReferenced(&state.rows) { state.rows.removeAll() } else { state.rows = newRows() }
        (state.base, state.through, state.note) = (end.position, end.position, [])
        state.walk = WriteAhead.Walk(state.walk.storeTag, end.epoch)
    }

    // MARK: For who has the writer's turn

    /// At the entry behind a position, once all up to it was looked at; nil where another thread has begun anew meanwhile.
    func walk(behind last: Checkpoint) -> WriteAhead.Walk? {
        state.withLock { state in
            state.epoch == last.epoch && state.through == last.position && state.walk.pass != nil ? state.walk : nil
        }
    }

    /// Whether so many blocks fit in.
    func hasRoom(_ count: Int, _ bytes: Int) -> Bool { state.withLock { $0.rows.hasRoom(count, bytes) } }

    /// Adds what this process has written; where that does not follow what is here, readers copy it from the file.
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

    /// Begins anew at an end up to which LMDB holds everything durably.
    func restart(_ end: Checkpoint) { state.withLock { Self.restart(&$0, end) } }

    /// Moves what LMDB lacks into it, within a transaction that is to be durable. O(blocks that are ahead).
    /// - Throws: `EvstoreError.storeDamaged` where entries that were acknowledged are gone.
    func apply(_ transaction: inout WriteTransaction) throws {
        let end = try end()
        // Not as it was looked up for readers, who know the transactions that were committed.
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

    /// What an entry notes of the frame that it was made of, with the last position of the log with it.
    static func note(_ end: FrameEnd, last: Position) -> [UInt8] { bytes(end.number) + bytes(last.rawValue) + end.link }

    /// The note of an entry of a node.
    static func note(_ entry: RawSpan) -> [UInt8] {
        [UInt8](copying: entry.slice(WriteAhead.Entry.noteStart, WriteAhead.Entry.noteBytes))
    }

    /// Nil where it is none, or none that a node has written.
    static func node(_ note: [UInt8]) -> (end: FrameEnd, last: Position)? {
        guard note.count == WriteAhead.Entry.noteBytes else { return nil }
        let end = FrameEnd(number: note.lent.load(UInt64.self, at: 0), link: Array(note[16...]))
        let last = Position(note.lent.load(UInt64.self, at: 8))
        return last <= .largest && end.number <= Position.largest.rawValue ? (end, last) : nil
    }
}
