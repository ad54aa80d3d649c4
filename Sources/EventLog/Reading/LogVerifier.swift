internal import Bytes
package import EventModel
package import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// Walks the log in chunks and compares it with the rules (`BlockLayout`, rules 1 to 8; `JumpList`; `Tables`).
struct LogVerifier {
    /// A stream as far as the walk has seen it: the positions on the jump chain of its head, with the head last.
    private struct Stream {
        var revision: UInt64 = 0
        var chain: [Position]
    }

    private static let findingsMax = 100
    private let access: LogAccess
    private let overlays: Overlays
    private let options: Options
    private let isDeep: Bool
    private(set) var findings: [Finding] = []
    private var last = Position.start
    private var epoch: Epoch?
    /// The link of the last block, and its epoch; nil after a damaged block, whose link is unknown.
    private var link: (epoch: Epoch, link: Digest)?
    private var streams: [UInt64: Stream] = [:]
    /// The names of types in their table: blocks hold them too.
    private var types: [TypeID: String] = [:]
    /// Whether the indexes can be read; nil before the first attempt.
    private var hasIndexes: Bool?
    private var indexes = IndexComparison()
    private let asked: Position?
    private var linkAsked: Digest?
    private var cuts: [Checkpoint] = []
    /// The damaged keys of streams, in a sealed log.
    private var slots = SlotFindings()
    /// Slots with keys that were forgotten and exist again; nil before the first look.
    private var revived: [SubjectSlot]?
    private var names: [[UInt8]: StreamName] = [:]

    /// - Parameter asked: the position whose link is wanted.
    init(_ access: LogAccess, _ overlays: Overlays, _ options: Options, deep: Bool, asking asked: Position? = nil) {
        (self.access, self.overlays, self.options, isDeep, self.asked) = (access, overlays, options, deep, asked)
        if asked == .start { linkAsked = Epochs.genesis(access.storeID) }
    }

    var walk: LogWalk {
        let end = last == .start ? Epochs.genesis(access.storeID) : link?.link
        return LogWalk(
            findings: findings, store: access.storeID, end: Checkpoint(epoch: epoch ?? .first, position: last),
            link: findings.isEmpty ? end : nil, linkAsked: linkAsked, cuts: cuts)
    }

    mutating func note(_ id: String, at position: Position?, _ message: String) {
        if findings.count < Self.findingsMax { findings.append(Finding(id: id, position: position, message: message)) }
    }

    /// Proves every slot with a key of a stream, in a sealed log, on a thread of its own while `body` runs. Call it before the walk.
    mutating func readSlots(beside body: () throws -> Void = {}) throws {
        guard let subjects = access.keys?.subjects else { return try body() }
        let proved = Monitor<Result<[SlotDamage], any Error>?>(nil)
        try alongside(
            {
                let damages = Result { try subjects.damages() }
                proved.withLock { $0 = damages }
            }, body)
        // Without a new thread, this one does the work.
        slots = SlotFindings(try proved.withLock { $0 }?.get() ?? subjects.damages())
    }

    /// Walks on for as long as one read transaction may last; false where the end was reached and compared.
    mutating func runChunk(_ transaction: borrowing ReadTransaction, _ progress: (UInt64, UInt64) -> Void) throws -> Bool {
        guard let moment = try LogSnapshot(transaction, access, overlays) else { return true }
        if let epoch, epoch != moment.epoch {
            // A cut between two chunks: the walked events may be gone.
            self = LogVerifier(access, overlays, options, deep: isDeep, asking: asked)
            try readSlots()
        }
        epoch = moment.epoch
        types = try Indexes.types(transaction, access.tables)
        try readLedger(transaction)
        let end = Instant.within(options.readSlice)
        var cursor = transaction.cursor(access.tables.blocks)
        var isThere = try Blocks.seek(&cursor, holding: last.next) || cursor.first()
        while isThere {
            if try Blocks.position(cursor.key) > last { try take(cursor, moment, transaction) }
            isThere = try cursor.next()
            if isThere && Instant.now >= end {
                progress(last.rawValue, moment.last.rawValue)
                return true
            }
        }
        progress(moment.last.rawValue, moment.last.rawValue)
        do { cuts = try Epochs.all(transaction, access.tables) } catch EvstoreError.corruptBlock(_, let reason) {
            note("STORE022", at: nil, reason)
        }
        // After a damaged block it is unknown what the indexes must hold.
        if findings.isEmpty, try !compareIndexes(moment, transaction, until: end) { return true }
        findings += slots.findings(access.keys?.store ?? "")
        if let keys = access.keys {
            findings += (revived ?? []).prefix(Self.findingsMax).map { slot in
                SlotFindings.revived(slot, isOfLines: keys.subjects.isOfLines(slot), of: names[slot.code], keys.store)
            }
        }
        return false
    }

    private mutating func take(_ cursor: borrowing Cursor, _ moment: LogSnapshot, _ transaction: borrowing ReadTransaction) throws {
        let first = try Blocks.position(cursor.key)
        let block: BlockView
        do throws(EvstoreError) {
            block = try Blocks.checked(cursor.value, at: first, access)
        } catch {
            note("STORE001", at: first, error.message)
            // The length in a damaged header is not used: the next block shows where this one ended.
            (last, link) = (min(first, Position(.max - 1)), nil)
            streams.removeAll()
            return
        }
        if first != last.next && link != nil || last == .start && first != Position(1) {
            note("STORE002", at: first, "the block begins at \(first), and the one before ended at \(last)")
        }
        try checkLink(block, transaction)
        for (id, name) in block.types where types[id] != name {
            let named = types[id].map { "has the name \(quoted($0))" } ?? "has no name"
            note("STORE005", at: first, "the type \(id), here \(quoted(name)), \(named) in the table of types")
        }
        last = block.last
        if last == asked { linkAsked = block.link }
        for index in 0 ..< block.count { try checkSum(block, index) }
        for index in 0 ..< block.count {
            let record = block.record(index)
            indexes.take(record)
            if isDeep { try take(record, moment, transaction) }
        }
        guard block.isSealed, let keys = access.keys else { return }
        if slots.wantsNames || revived?.isEmpty == false { for index in 0 ..< block.count { noteName(of: block.record(index), keys) } }
        if isDeep { try checkOpening(block, transaction) }
    }

    /// Looks once for keys that the file lacks, and for forgotten ones that exist again.
    private mutating func readLedger(_ transaction: borrowing ReadTransaction) throws {
        guard revived == nil, let keys = access.keys else { return }
        if let shortage = try keys.subjects.shortage(noted: StateRows.slots(transaction, access.tables)) {
            slots.note(shortage: shortage, keys.store)
        }
        do { revived = try keys.subjects.revived(ForgottenLedger.entries(transaction, access.tables, keys.subjects.ring)) } catch let error
            as EvstoreError
        {
            revived = []
            note("STORE018", at: nil, error.message)
        }
    }

    private mutating func noteName(of record: RecordView, _ keys: StoreKeys) {
        guard let name = record.streamName else { return }
        let code = keys.subjects.ring.code(ofSubject: Array(name.text.utf8))
        slots.note(name, code: code)
        if revived?.contains(where: { $0.code == code }) == true { names[code] = name }
    }

    private mutating func checkSum(_ block: BlockView, _ index: Int) throws {
        let position = block.first.plus(UInt64(index))
        do throws(EvstoreError) {
            _ = try BlockLayout.checkRecord(block.bytes, at: position, after: block.first, storeTag: access.storeID.tag)
        } catch { note("STORE001", at: position, error.message) }
    }

    /// Checks that every event of a sealed block can be opened with the store's keys.
    private mutating func checkOpening(_ block: BlockView, _ transaction: borrowing ReadTransaction) throws {
        // The whole block first; if that fails, each record, to say which one.
        if block.isWhole, opens(block, transaction) { return }
        for index in 0 ..< block.count {
            let record = block.record(index)
            do { try access.open(record) { _ in } } catch let damage as SlotDamage {
                slots.note(damage, of: try access.name(ofStream: damage.stream, transaction))
            } catch let error as EvstoreError { note("STORE015", at: record.position, error.message) }
        }
    }

    private func opens(_ block: BlockView, _ transaction: borrowing ReadTransaction) -> Bool {
        do { return try access.open(block, transaction) { _ in true } } catch { return false }
    }

    private mutating func checkLink(_ block: BlockView, _ transaction: borrowing ReadTransaction) throws {
        defer { link = (block.epoch, block.link) }
        let isFirst = block.first == Position(1)
        guard isFirst || link != nil else { return }
        if let epoch, block.epoch > epoch || block.epoch < link?.epoch ?? .first {
            note("STORE003", at: block.first, "the block's epoch \(block.epoch) does not fit where it stands")
            return
        }
        var previous = link?.link ?? Epochs.genesis(access.storeID)
        if block.epoch != link?.epoch ?? .first {
            let cut = try Epochs.cut(block.epoch, transaction, access.tables)
            if cut?.at != last || cut?.link != previous {
                note("STORE003", at: block.first, "epoch \(block.epoch) did not begin where the log before it ends")
            }
            previous = try Blocks.start(of: block.epoch, transaction, access)
        }
        if BlockDraft.link(after: previous, block.body) != block.link {
            note("STORE003", at: block.first, "the hash chain is broken: the block does not link to the one before it")
        }
    }

    private mutating func take(_ record: RecordView, _ moment: LogSnapshot, _ transaction: borrowing ReadTransaction) throws {
        checkPointers(record)
        if try indexesAreReadable(moment, transaction) { try checkIndexes(record, moment, transaction) }
    }

    /// Whether the indexes can be read: they are completed from the end of the log, which may be damaged.
    private mutating func indexesAreReadable(_ moment: LogSnapshot, _ transaction: borrowing ReadTransaction) throws -> Bool {
        if let hasIndexes { return hasIndexes }
        var isReadable = true
        do { _ = try moment.head(0, transaction, access) } catch EvstoreError.corruptBlock { isReadable = false }
        hasIndexes = isReadable
        return isReadable
    }

    private mutating func checkIndexes(_ record: RecordView, _ moment: LogSnapshot, _ transaction: borrowing ReadTransaction) throws {
        if let name = record.streamName, try moment.streamID(name.text, transaction, access) != record.streamID {
            note("STORE005", at: record.position, "the stream \(name) is not found where it begins")
        }
        if record.idGiven {
            if try moment.position(IDKey(record), transaction, access) != record.position {
                note("STORE005", at: record.position, "the id \(record.id) does not lead to its event")
            }
        }
    }

    private mutating func checkPointers(_ record: RecordView) {
        let revision = record.revision.rawValue
        guard revision > 0 else {
            if record.streamID != record.position.rawValue { note("STORE004", at: record.position, "a stream's first event is not its id") }
            streams[record.streamID] = Stream(chain: [record.position])
            return
        }
        // Unknown only after a damaged block.
        guard var stream = streams[record.streamID], let before = stream.chain.last else {
            if link != nil && findings.isEmpty { note("STORE004", at: record.position, "the stream's earlier events are missing") }
            return
        }
        var jump = before
        if JumpList.isMerging(revision), stream.chain.count >= 3 {
            jump = stream.chain[stream.chain.count - 3]
            stream.chain.removeLast(2)
        }
        if revision != stream.revision + 1 || record.previous != before || record.jump != jump {
            note("STORE004", at: record.position, "revision \(revision) does not point to its stream's events")
        }
        stream.revision = revision
        stream.chain.append(record.position)
        streams[record.streamID] = stream
    }

    private static let wrongHead = "the head of the stream that begins here is not its last event"

    /// Compares the indexes with the walked events; false where another transaction has to go on.
    private mutating func compareIndexes(
        _ moment: LogSnapshot, _ transaction: borrowing ReadTransaction, until end: Instant
    ) throws -> Bool {
        do throws {
            for stream in try indexes.lookAtHeads(until: end, transaction, access) { note("STORE005", at: stream, Self.wrongHead) }
            if indexes.hasHeads { return false }
            if isDeep { try compareHeads(moment, transaction) }
            if findings.isEmpty { findings += try indexes.end(moment, transaction, access) }
        } catch EvstoreError.corruptBlock(_, let reason) { note("STORE005", at: nil, reason) }
        return true
    }

    /// Reports the streams whose heads are not their last events.
    private mutating func compareHeads(_ moment: LogSnapshot, _ transaction: borrowing ReadTransaction) throws {
        for (id, stream) in streams {
            let head = try moment.head(id, transaction, access)
            if head?.revision.rawValue != stream.revision || head?.position != stream.chain.last {
                note("STORE005", at: Position(id), Self.wrongHead)
            }
        }
    }
}

/// The result of a walk through a whole log: its findings, and the end of its hash chain.
package struct LogWalk: Sendable {
    package var findings: [Finding]
    package var store: StoreID
    /// The last position that the walk has seen.
    package var end: Checkpoint
    /// The link at that position; nil where there are findings.
    package var link: Digest?
    /// The link at the requested position; nil where no block ends there.
    package var linkAsked: Digest?
    /// For each epoch after the first: the epoch, and the position at which it cut off the one before.
    package var cuts: [Checkpoint]
}

extension EventLog {
    /// Checks everything: the file's pages, checksums, chain and positions; with `deep` also the pointers, and the indexes against the log.
    /// `progress` gets the number of events done and of all events.
    package func verify(deep: Bool, progress: (UInt64, UInt64) -> Void = { _, _ in }) throws -> [Finding] {
        try walk(deep: deep, progress: progress).findings
    }

    /// Checks everything, and also returns the link at the chain's end and, if requested, at a position.
    package func walk(deep: Bool, asking: Position? = nil, progress: (UInt64, UInt64) -> Void = { _, _ in }) throws -> LogWalk {
        defer { withExtendedLifetime(self) {} }
        var verifier = LogVerifier(access, overlays, options, deep: deep, asking: asking)
        do {
            try verifier.readSlots {
                try access.environment.checkStructure(tables: TableDescriptor.log.kinds, rows: access.tables.checks)
            }
            while try access.environment.read({ try verifier.runChunk($0, progress) }) {}
        } catch let damage as StructureDamage where damage.rule == StructuralCheck.rowRule {
            verifier.note("STORE011", at: nil, "a row is not as it was written: log/data.mdb, \(damage)")
        } catch let damage as StructureDamage {
            // LMDB must not follow damaged pages.
            verifier.note("STORE007", at: nil, "the log's own structure is damaged: log/data.mdb, \(damage)")
        } catch let error as StorageError where error.isDamage {
            verifier.note("STORE007", at: nil, "the log's own structure is damaged: \(error.message)")
        } catch let error as StorageError { throw failure(error, doing: "verifying the store") }
        return verifier.walk
    }
}
