internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// The part of a backup that is new for a replica: every frame was read and checked before any of it is written.
struct NewerBackup: Sendable {
    /// Frames with blocks; they hold at least all blocks that the replica lacks.
    struct Blocks: Sendable {
        var files: [String]
        /// The frame that the first one follows; nil where they begin a backup.
        var after: (number: UInt64, link: Digest)?
        /// The last position before them.
        var start: Position
    }

    let blocks: Blocks
    let rows: [String: [[UInt8]: [UInt8]]]
    let end: LogEnd
    let mark: ReplicaMark

    /// The rows for a log that ends with blocks of an epoch, without those of later cuts, which would name positions that it does not have
    /// yet.
    func rows(through epoch: Epoch) -> [String: [[UInt8]: [UInt8]]] {
        var rows = rows
        let (epochs, state) = (TableDescriptor.epochs.name, TableDescriptor.state.name)
        rows[epochs] = rows[epochs]?.filter { row in Epochs.cut(row.key.lent, row.value.lent).map { $0.epoch <= epoch } ?? true }
        rows[state] = rows[state]?.mapValues { StateRows.numbers($0, through: epoch) }
        return rows
    }
}

/// Reads the frames of a backup after a base, and finds what a replica lacks.
struct BackupExamination {
    private let log: EventLog
    private let name: String
    private var frames: FrameReader
    /// The end of the replica.
    private let own: Checkpoint
    /// The end of the blocks that were read.
    private var read: Position
    private var link: Digest?
    /// The last block that the replica should have.
    private var known: (last: Position, link: Digest)?
    /// The position of a block that differs in the replica.
    private var differs: Position?
    private var rows: [String: [[UInt8]: [UInt8]]] = [:]
    private(set) var madeAt: Timestamp?
    /// Takes frames that come through a pipe and hold what the replica lacks.
    private(set) var spool: FrameSpool?

    /// - Parameters:
    ///   - name: the backup's name in errors.
    ///   - start: the last position before the frames.
    init(_ frames: FrameReader, named name: String, after start: Position, _ log: EventLog, spool: FrameSpool? = nil) throws {
        (self.frames, self.name, self.log, self.spool, read) = (frames, name, log, spool, start)
        own = try log.read { $0.last }
    }

    /// - Throws: `BackupDamage`; `EvstoreError`: otherBackup, epochChanged where the original was cut below the replica's end.
    mutating func run(_ progress: (UInt64) throws -> Void) throws -> LogEnd {
        while true {
            let before = (number: frames.number &- 1, link: frames.link)
            let (kind, body) = try frames.next()
            switch kind {
            case .beginning: try begin(body)
            case .keys, .subjects: throw EvstoreError.sealedReplica(name)
            case .blocks: try look(at: body, after: before)
            case .rows:
                try BackupRows.forEach(body, log.access.tables) { table, key, value in
                    rows[table.name, default: [:]][[UInt8](copying: key)] = [UInt8](copying: value)
                }
            case .end: return try end(body)
            }
            try progress(frames.bytes)
        }
    }

    func newer(_ blocks: NewerBackup.Blocks, _ end: LogEnd, _ mark: ReplicaMark) -> NewerBackup {
        NewerBackup(blocks: blocks, rows: rows, end: end, mark: mark)
    }

    var bytes: UInt64 { frames.bytes }

    private mutating func begin(_ body: [UInt8]) throws {
        guard body.count == BackupFrame.beginningBytes else { throw BackupDamage("it does not begin with a beginning") }
        if StoreID(Array(body[..<16])) != log.storeID { throw EvstoreError.otherBackup(path: name) }
        madeAt = Timestamp(microseconds: body.lent.load(Int64.self, at: 16))
    }

    private mutating func look(at body: [UInt8], after before: (number: UInt64, link: Digest)) throws {
        let (frame, start) = (body.lent, read)
        var offset = 0
        while offset < frame.byteCount {
            let rest = frame.slice(offset, frame.byteCount - offset)
            let block: BlockView
            do throws(EvstoreError) { block = try BlockView(next: rest, at: read.next, of: log.storeID) } catch {
                throw BackupDamage(error.message)
            }
            (read, link) = (block.last, block.link)
            if block.last <= own.position { known = (block.last, block.link) } else if block.first <= own.position { differs = block.first }
            offset += block.bytes.byteCount
        }
        if read > own.position, differs == nil { try spool?.write(body, after: before, from: start) }
    }

    private mutating func end(_ body: [UInt8]) throws -> LogEnd {
        guard let said = LogEnd(body), try frames.isAtEnd() else { throw BackupDamage("something follows its end") }
        guard said.last.position == read, link.map({ $0 == said.link }) ?? true else {
            throw BackupDamage("its events do not match its end")
        }
        guard let row = rows[TableDescriptor.state.name]?[StateRows.numbersKey], let numbers = StateRows.numbers(of: row) else {
            throw BackupDamage("its numbers are invalid")
        }
        if numbers.storeID != log.storeID { throw EvstoreError.otherBackup(path: name) }
        guard numbers.epoch == said.last.epoch else { throw BackupDamage("the epoch of its numbers is not that of its end") }
        let cuts = (rows[TableDescriptor.epochs.name] ?? [:]).compactMap { Epochs.cut($0.key.lent, $0.value.lent) }
        if let cut = own.cutOff(by: cuts) { throw EvstoreError.epochChanged(seen: own, cut: cut) }
        if let known, try log.read({ try $0.blockEnd(at: known.last) }) != known.link { differs = known.last }
        if let differs {
            throw BackupDamage(
                "the replica holds other events at position \(differs), and no cut explains that. Two stores that were restored from one "
                    + "backup within a second have one epoch: this may be the other one's backup. If it is the right one, make the replica "
                    + "again, in another directory")
        }
        return said
    }
}

extension EvstoreError {
    static func sealedReplica(_ name: String) -> EvstoreError {
        .keysRefused(path: name, reason: "its events are sealed, and a replica of sealed events is not kept: restore the backup instead")
    }
}

extension BlockView {
    /// The checked block at the beginning of some bytes.
    /// - Throws: `EvstoreError.corruptBlock`.
    @_lifetime(copy bytes)
    init(next bytes: RawSpan, at first: Position, of store: StoreID) throws(EvstoreError) {
        let size = bytes.byteCount < BlockLayout.headerBytes ? 0 : Int(bytes.load(UInt32.self, at: BlockLayout.Header.bytes))
        try self.init(checking: bytes.slice(0, min(size, bytes.byteCount)), at: first, storeTag: store.tag)
    }
}

/// A file beside a replica's log for frames that come through a pipe and hold what the replica lacks: all of them are checked before the
/// first one is used.
struct FrameSpool {
    private static let name = "/follow.new"
    private let path: String
    private var file: FileWriter
    private var frames: FrameWriter?
    /// The written frames; no files where there are none.
    private(set) var blocks: NewerBackup.Blocks

    /// - Parameter end: the end of the replica's log.
    init(at store: String, behind end: Position) {
        path = store + Self.name
        file = FileWriter(path)
        blocks = NewerBackup.Blocks(files: [], after: nil, start: end)
    }

    mutating func write(_ body: [UInt8], after before: (number: UInt64, link: Digest), from start: Position) throws {
        if frames == nil {
            frames = FrameWriter(after: before)
            blocks = NewerBackup.Blocks(files: [path], after: before, start: start)
        }
        try frames?.write(.blocks, body.lent) { try file.write($0) }
    }

    /// Removes the file, even one that a killed process has left.
    static func remove(at store: String) throws { try Directory.remove(store + name) }
}

/// The blocks after a log's end, in pieces for one transaction each. A piece ends with an append, so that no reader sees half of one, and
/// all of its blocks have one epoch.
struct BlockPieces {
    struct Piece: Sendable {
        var bytes: [UInt8]
        let epoch: Epoch
        var last: Position
    }

    /// How many bytes a piece must have before it may end.
    static let bytesWanted = 16 << 20

    private let bytesWanted: Int
    private let store: StoreID
    /// Blocks up to here are skipped.
    private let own: Position
    private let last: Position
    private var frames: FrameReader
    private var read: Position
    private var body: [UInt8] = []
    private var offset = 0

    init(_ newer: NewerBackup, behind own: Position, of store: StoreID, atOnce bytesWanted: Int = Self.bytesWanted) {
        self.bytesWanted = bytesWanted
        (self.store, self.own, last, read) = (store, own, newer.end.last.position, newer.blocks.start)
        frames = FrameReader(FileSequence(newer.blocks.files).read, after: newer.blocks.after)
    }

    /// - Throws: `BackupDamage`; `EvstoreError.corruptBlock`.
    mutating func next() throws -> Piece? {
        var piece: Piece?
        while read < last {
            if offset == body.count {
                let (kind, next) = try frames.next()
                (body, offset) = (kind == .blocks ? next : [], 0)
                continue
            }
            guard let (end, size) = try add(to: &piece) else { break }
            (read, offset) = (end, offset + size)
        }
        return piece
    }

    /// Adds the next block; nil where it does not belong to this piece.
    private func add(to piece: inout Piece?) throws -> (end: Position, size: Int)? {
        let block = try BlockView(next: body.lent.slice(offset, body.count - offset), at: read.next, of: store)
        if block.last > own {
            if let begun = piece, block.epoch != begun.epoch || begun.bytes.count >= bytesWanted && !block.record(0).continuesAppend {
                return nil
            }
            if piece == nil { piece = Piece(bytes: [], epoch: block.epoch, last: block.last) }
            piece?.bytes += [UInt8](copying: block.bytes)
            piece?.last = block.last
        }
        return (block.last, block.bytes.byteCount)
    }
}
