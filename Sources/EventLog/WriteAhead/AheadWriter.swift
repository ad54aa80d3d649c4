internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// Writes `log/ahead`, for who has the writer's turn.
struct AheadWriter: ~Copyable {
    private let store: String
    private let storeID: StoreID
    private let directory: String
    /// Whether an entry is durable once it is written: of a node of a cluster log the system writes it when it likes, and what a power cut takes
    /// of it comes again from the cluster log.
    private let isSynced: Bool
    /// The entries in memory; nil where processes share no page: then LMDB holds everything.
    let memory: AheadBlocks?
    /// Nil until it is needed.
    private var file: File?
    private var cannotOpen = false
    /// Whether its name is durable.
    private var isNamed = false
    private var entry = ByteBuffer(capacity: 16 * WriteAhead.pageBytes)

    init(_ store: String, _ access: LogAccess, isSynced: Bool) {
        (self.store, storeID, self.isSynced) = (store, access.storeID, isSynced)
        directory = access.environment.directory
        memory = access.ahead.flatMap { $0.words.isWritable ? $0 : nil }
    }

    /// What became of an entry.
    enum Written { case written, full, unfit }

    /// Adds the blocks to what is ahead, durably where entries are synced; the caller acknowledges them.
    /// - Parameter note: of a node (`AheadBlocks.note`), else empty.
    /// - Returns: `full` where LMDB has to take what is ahead first, `unfit` where it has to take the blocks, too.
    /// - Throws: `StorageError` where nothing was written, `UndoneCommit` where that is not known.
    mutating func write(_ blocks: BlockBatch, _ epoch: Epoch, _ positions: ClosedRange<Position>, note: [UInt8]) throws -> Written {
        guard let memory, blocks.byteCount <= WriteAhead.blocksBytesMax, let file = usable() else { return .unfit }
        let place = memory.next
        let pagesBytes = WriteAhead.Entry.pagesBytes(ofBlocks: blocks.byteCount)
        guard place + pagesBytes <= WriteAhead.fileBytes, memory.hasRoom(blocks.count, blocks.byteCount) else { return .full }
        try open(file, memory.words)
        WriteAhead.Entry.encode(blocks, epoch, positions, storeID.tag, note: note, into: &entry)
        try put(file, at: place, memory.words)
        blocks.lend { memory.add($0, through: positions.upperBound, pagesBytes, note: note) }
        return .written
    }

    private func put(_ file: File, at place: Int, _ words: AheadWords) throws {
        do {
            try file.write(entry.bytes, at: place)
            if isSynced, Guard.aheadSync.isOn { try file.sync() }
        } catch {
            // After a failed sync nobody knows what the disk has, unless it was only full.
            do throws(StorageError) {
                guard error.isDiskFull(below: 0) else { throw error }
                try file.write([UInt8](repeating: 0, count: WriteAhead.pageBytes), at: place)
                try file.sync()
            } catch {
                words.fail()
                throw UndoneCommit(cause: error)
            }
            throw error
        }
    }

    /// Has the header say durably that entries may follow, before one does.
    private func open(_ file: File, _ words: AheadWords) throws(StorageError) {
        if words.isOpen { return }
        if Guard.settling.isOn { try WriteAhead.Header(storeID, isOpen: true).write(to: file) }
        words.isOpen = true
    }

    /// Has the header say durably that LMDB holds everything, which it does.
    mutating func close() throws {
        guard let words = memory?.words, words.isOpen else { return }
        words.isOpen = false
        words.acknowledgeLMDB()
        try WriteAhead.Header(storeID, isOpen: false).write(to: opened())
    }

    /// Adds an entry that a process has written behind the last one that is acknowledged, and that was killed before it acknowledged it. Its
    /// caller has no answer; but it may be on the disk, and so it is made to be there.
    /// - Returns: whether there was one.
    mutating func takeOver(after last: Checkpoint, _ check: (RawSpan) throws -> Bool) throws -> Bool {
        guard let memory, memory.words.isOpen, let file = usable(), let bytes = try AheadBlocks.entry(in: file, at: memory.next),
            let found = WriteAhead.Entry(whole: bytes.lent), found.epoch == last.epoch, found.storeTag == storeID.tag,
            found.first == last.position.next
        else { return false }
        let blocks = bytes.lent.slice(WriteAhead.Entry.headerBytes, found.blocksBytes)
        guard try check(blocks) else { return false }
        entry.removeAll()
        entry.append(bytes.lent.slice(0, found.byteCount))
        if Guard.takeover.isOn { try put(file, at: memory.next, memory.words) }
        let note = bytes.lent.slice(WriteAhead.Entry.noteStart, WriteAhead.Entry.noteBytes)
        memory.add(blocks, through: found.last, found.pagesBytes, note: found.isOfNode ? [UInt8](copying: note) : [])
        return true
    }

    /// Makes all entries durable that there are, of a node. Once that has failed it is never tried again: it would succeed without the bytes
    /// that were lost.
    static func sync(at store: String, _ memory: AheadBlocks?) throws {
        let path = store + WriteAhead.fileName
        guard try Directory.status(path) != nil else { return }
        do { try File(path, .write).sync() } catch {
            memory?.words.fail()
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
        let made = path + ".new"
        if try Directory.status(path) == nil {
            // Order: whole and durable under another name first.
            try Directory.remove(made)
            let file = try File(made, .createNew)
            try file.write([UInt8](repeating: 0, count: WriteAhead.fileBytes))
            try file.sync()
            try Directory.rename(made, to: path)
        }
        let file = try File(path, .write)
        self.file = file
        return file
    }
}

/// A commit failed, and what it has left on the disk may still count.
struct UndoneCommit: Error, CustomStringConvertible {
    let cause: StorageError

    var description: String { cause.description }
}
