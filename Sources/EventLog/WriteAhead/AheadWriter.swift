internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Writes `log/ahead`, under the writer's turn.
struct AheadWriter: ~Copyable {
    private let store: String
    private let storeID: StoreID
    private let directory: String
    /// Whether an entry is synced when it is written. It is not for a node of a cluster log: the system writes it at some time, and entries
    /// that a power cut takes come again from the cluster log.
    private let isSynced: Bool
    /// The entries in memory; nil where this process can't write the shared page: then LMDB takes every commit.
    let memory: AheadBlocks?
    let words: AheadPage?
    /// Where the next entry goes, and its pass; nil at the front, where a pass begins.
    private var place: (offset: Int, pass: UInt64)?
    /// Nil until it is needed.
    private var file: File?
    private var cannotOpen = false
    private var isNamed = false
    /// Whether the kernel may hold the file in pieces (folios) that are larger than small entries: a piece is as large as what was written
    /// or read at once. Ext4 walks all blocks of a piece for each write and each sync, which costs 20 µs for 2 MiB (Linux 6.18).
    private var hasLargePieces = true
    private static let smallEntryBytes = 4 * WriteAhead.pageBytes
    private var entry = ByteBuffer(capacity: 16 * WriteAhead.pageBytes)

    init(_ store: String, _ access: LogAccess, isSynced: Bool) {
        (self.store, storeID, self.isSynced) = (store, access.storeID, isSynced)
        directory = access.environment.directory
        words = access.ahead?.words.flatMap { $0.isWritable ? $0 : nil }
        memory = words == nil ? nil : access.ahead
    }

    enum Written { case written, full, unfit }

    /// Writes the blocks ahead, durably if entries are synced; the caller acknowledges them.
    /// - Parameter first: the entry's head if a pass begins with it: its pass is the number of LMDB's newest transaction.
    /// - Returns: `full` where LMDB has to take in what is ahead first, `unfit` where it has to take these blocks too.
    /// - Throws: `StorageError`, whose outcome is open unless nothing was written.
    mutating func write(_ blocks: BlockBatch, _ first: WriteAhead.Entry.Head) throws -> Written {
        guard let memory, let words, blocks.byteCount <= WriteAhead.blocksBytesMax, let file = usable() else { return .unfit }
        let (offset, pass) = place ?? (WriteAhead.entriesStart, first.pass)
        let end = offset + WriteAhead.Entry.pagesBytes(ofBlocks: blocks.byteCount)
        if place == nil {
            memory.restart(Checkpoint(epoch: first.epoch, position: first.positions.lowerBound.previous))
        } else if end > WriteAhead.fileBytes || !memory.hasRoom(blocks.count, blocks.byteCount) {
            return .full
        }
        guard end <= WriteAhead.fileBytes, memory.hasRoom(blocks.count, blocks.byteCount) else { return .unfit }
        try open(file, words)
        if end - offset > Self.smallEntryBytes {
            hasLargePieces = true
        } else if isSynced, place == nil, hasLargePieces {
            file.dropCachedPages()
            hasLargePieces = false
        }
        var head = first
        head.pass = pass
        WriteAhead.Entry.encode(blocks, head, into: &entry)
        try put(file, at: offset, words)
        place = (end, pass)
        blocks.lend { memory.add($0, head, at: offset) }
        return .written
    }

    private func put(_ file: File, at place: Int, _ words: AheadPage) throws {
        do {
            try file.write(entry.bytes, at: place)
            if isSynced, Guard.aheadSync.isOn { try file.sync() }
        } catch {
            // After a failed sync it is unknown what the disk has, unless the disk was only full.
            do throws(StorageError) {
                guard error.isDiskFull(below: 0) else { throw error }
                try file.write([UInt8](repeating: 0, count: WriteAhead.pageBytes), at: place)
                try file.sync()
            } catch {
                words.fail()
                var doubt = error
                doubt.commit = StorageError.FailedCommit(isOpen: true, freeBytes: .max)
                throw doubt
            }
            throw error
        }
    }

    /// Makes the header say durably that entries may follow, before the first one does.
    private func open(_ file: File, _ words: AheadPage) throws(StorageError) {
        if words.isOpen { return }
        if Guard.settling.isOn { try WriteAhead.Header(storeID, isOpen: true).write(to: file) }
        words.isOpen = true
    }

    /// Called when LMDB holds everything: the next entry goes to the front.
    mutating func begin() { place = nil }

    /// Makes the header say durably that LMDB holds everything. It must.
    mutating func close() throws {
        guard let words, words.isOpen else { return }
        words.isOpen = false
        words.acknowledgeLMDB()
        try WriteAhead.Header(storeID, isOpen: false).write(to: opened())
    }

    /// Moves behind the last acknowledged entry. If a process wrote a further entry there and was killed before it acknowledged it, this
    /// adds that entry: its caller has no answer, but the entry may be on the disk, and so it is made durable.
    /// - Parameters:
    ///   - last: the end of the log.
    ///   - isApplied: whether LMDB has everything up to there.
    ///   - link: the link of the last block.
    /// - Returns: the end with that entry; nil where there was none.
    mutating func takeOver(after last: Checkpoint, isApplied: Bool, link: Digest, _ access: LogAccess) throws -> Checkpoint? {
        guard let memory, let words, words.isOpen else {
            place = nil
            return nil
        }
        // Order: where entries may follow, they are read before anything is written.
        let file = try opened()
        if isApplied { memory.restart(last) }
        let walk = isApplied ? WriteAhead.Walk(storeID.tag, last.epoch) : memory.walk(behind: last)
        let own = place
        place = walk?.place
        if place?.offset != own?.offset || place?.pass != own?.pass {
            // Another process has written here, and its entries may be large.
            hasLargePieces = true
        }
        guard let walk else {
            throw EvstoreError.storeDamaged(path: store, reason: "log/ahead: entries that were acknowledged are not there")
        }
        let offset = walk.offset
        guard let bytes = try AheadBlocks.entry(in: file, at: offset), let found = WriteAhead.Entry(whole: bytes.lent),
            case .new = walk.step(found, after: last.position)
        else { return nil }
        let blocks = bytes.lent.slice(WriteAhead.Entry.headerBytes, found.blocksBytes)
        guard try Self.follow(blocks, through: found.last, link, access) else { return nil }
        entry.removeAll()
        entry.append(bytes.lent.slice(0, found.byteCount))
        if Guard.takeover.isOn { try put(file, at: offset, words) }
        place = (offset + found.pagesBytes, found.pass)
        let head = WriteAhead.Entry.Head(
            epoch: found.epoch, positions: found.first ... found.last, storeTag: found.storeTag, pass: found.pass,
            note: found.isOfNode ? AheadBlocks.note(bytes.lent) : [])
        memory.add(blocks, head, at: offset)
        return Checkpoint(epoch: found.epoch, position: found.last)
    }

    /// Whether blocks continue the log after its last block, up to a position.
    private static func follow(_ blocks: RawSpan, through last: Position, _ link: Digest, _ access: LogAccess) throws -> Bool {
        var (offset, link, end) = (0, link, Position.start)
        while let bytes = BlockLayout.block(blocks, at: offset) {
            let first = Position(bytes.load(UInt64.self, at: BlockLayout.Header.first))
            let block: BlockView
            do throws(EvstoreError) { block = try Blocks.checkedWithoutNames(bytes, at: first, access) } catch { return false }
            guard end == .start || block.first == end.next, BlockDraft.link(after: link, block.body) == block.link else { return false }
            (offset, link, end) = (offset + bytes.byteCount, block.link, block.last)
        }
        return offset == blocks.byteCount && end == last
    }

    /// Makes all entries of a node durable. Once that has failed it is never tried again: a second sync would succeed without the bytes
    /// that were lost.
    fileprivate static func sync(at store: String, _ words: AheadPage?) throws {
        try words?.requireSound()
        let path = store + WriteAhead.fileName
        guard try Directory.status(path) != nil else { return }
        let file = try File(path, .write)
        do { try file.sync() } catch {
            // If no entries may follow, LMDB has them all.
            if words?.isOpen == true { words?.fail() }
            throw error
        }
    }

    // MARK: The file

    /// The file to add to; nil where it can't be made or opened, which only makes appends slower.
    private mutating func usable() -> File? {
        if cannotOpen { return nil }
        do {
            let file = try opened()
            // Order: the process that made the file may have been killed before its name was durable.
            if !isNamed { try Directory.sync(directory) }
            isNamed = true
            return file
        } catch {
            cannotOpen = true
            return nil
        }
    }

    private mutating func opened() throws(StorageError) -> File {
        if let file { return file }
        let path = store + WriteAhead.fileName
        if try Directory.status(path) == nil {
            try WholeFile.write([UInt8](repeating: 0, count: WriteAhead.fileBytes), to: path, .contents)
        }
        let file = try File(path, .write)
        file.expectRandomReads()
        self.file = file
        return file
    }
}

extension LogAccess {
    /// Makes durable on this node's disk what can be read of the log.
    /// - Parameter store: its path as this handle knows it.
    package func makeDurable(at store: String) throws { try AheadWriter.sync(at: store, ahead?.words) }
}
