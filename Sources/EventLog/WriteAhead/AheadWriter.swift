internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform

/// Writes the file ahead of the log, for the writing thread. Everything here is done under LMDB's write lock.
struct AheadWriter: ~Copyable {
    private let store: String
    private let access: LogAccess
    private let data: File
    /// Whether an entry is durable before its transaction commits: of a node of a cluster log the system writes it when it likes, and what a
    /// power cut takes of it comes again from the cluster log.
    private let isSynced: Bool
    /// Nil until the first round.
    private var file: File?
    private var cannotOpen = false
    /// Whether its name is durable.
    private var isNamed = false
    /// The round whose header this process has made durable.
    private var settledRound: UInt64?
    /// Keeps the pages of a commit at or below the one that the round goes back to.
    private var pin: Pin?
    private var pinnedRound: UInt64 = 0
    /// The round that was added to last, where its next entry goes, and the last position before that.
    private var round: UInt64 = 0
    private var end = WriteAhead.entriesStart
    private var last = Position.start
    private var ownRound: UInt64?
    /// What the file began with when it was read last, and which of its headers counts; whether that still holds.
    private var headers: (bytes: [UInt8], counting: WriteAhead.Header?, areKnown: Bool) = ([], nil, false)
    private var entry = ByteBuffer(capacity: 16 * WriteAhead.pageBytes)
    /// Whether an entry is written whose transaction has not been committed.
    private(set) var isUnconfirmed = false

    init(_ store: String, _ access: LogAccess, isSynced: Bool) throws {
        (self.store, self.access, self.isSynced) = (store, access, isSynced)
        data = try File(access.environment.directory + "/data.mdb", .read)
    }

    /// Whether this process keeps a commit from being overwritten.
    var isHolding: Bool { pin != nil }

    /// Makes the blocks of a transaction that is about to commit durable, where `isSynced`; false where LMDB has to do that itself.
    mutating func write(
        _ blocks: BlockBatch, from first: Position, through last: Position, _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        let size = blocks.byteCount
        guard !blocks.isCut, size <= WriteAhead.blocksBytesMax else { return false }
        let room = WriteAhead.Frame.pagesBytes(ofBlocks: size)
        guard let file = usable() else { return false }
        var header = try header(of: file)
        if try !fits(header, before: first, room, file) {
            header = try begin(after: header, transaction.id - 1, file)
            self.last = first.previous
        }
        guard let header else { return false }
        try settle(header, file)
        WriteAhead.Frame.begin(&entry, round: header.round, first: first, last: last, blocksBytes: size)
        blocks.lend { entry.append($0) }
        WriteAhead.Frame.end(&entry)
        isUnconfirmed = true
        try file.write(entry.bytes, at: end)
        if isSynced, Guard.aheadSync.isOn { try file.sync() }
        return true
    }

    /// The transaction of the last entry, whose blocks end at `last`, has been committed.
    mutating func confirm(_ last: Position) {
        guard isUnconfirmed else { return }
        (isUnconfirmed, self.last) = (false, last)
        end += entry.count
    }

    /// Ends the round that is running, whichever process has begun it: afterwards LMDB holds everything durably, and no entry counts
    /// any more.
    mutating func endRound() throws {
        if file == nil, try Directory.status(store + WriteAhead.fileName) == nil { return }
        let file = try opened()
        if let header = try header(of: file) {
            forgetHeaders()
            if header.base == nil {
                try settle(header, file)
            } else {
                try Self.end(header, file, access.environment)
                settledRound = header.round + 1
            }
        }
        isUnconfirmed = false
        letGo()
    }

    /// The same for a process that makes a table which an older program's store lacks: its commit would reuse the pages that a recovery of
    /// the round goes back to.
    static func endRound(at store: String, _ storeID: StoreID, _ environment: Environment) throws {
        let path = store + WriteAhead.fileName
        guard try Directory.status(path) != nil else { return }
        let file = try File(path, .write)
        guard let header = try Self.header(of: file, storeID) else { return }
        // Order: an end that another process has written may not be durable yet.
        if header.base == nil { try WriteAhead.write(header, to: file) } else { try end(header, file, environment) }
    }

    /// Makes all entries durable that there are. Once that has failed it is never tried again: it would succeed without the bytes that were
    /// lost.
    static func sync(at store: String, _ storeID: StoreID) throws {
        let path = store + WriteAhead.fileName
        guard try Directory.status(path) != nil else { return }
        let file = try File(path, .write)
        let header = try header(of: file, storeID)
        do { try file.sync() } catch {
            try fail(header, file)
            throw error
        }
    }

    /// Has nobody write any more before the store was put right.
    private static func fail(_ header: WriteAhead.Header?, _ file: File) throws {
        guard var failed = header, failed.base != nil else { return }
        failed.hasFailed = true
        try WriteAhead.write(failed, to: file)
    }

    private static func end(_ running: WriteAhead.Header, _ file: File, _ environment: Environment) throws {
        try sync(running, file, environment)
        try WriteAhead.end(running, in: file)
    }

    /// Whether this process has begun the round that is running, and so ends it.
    func ownsRound() throws -> Bool {
        guard let file, let ownRound else { return false }
        return try WriteAhead.header(of: file, access.storeID)?.round == ownRound
    }

    /// Releases the pin: this process adds nothing more to the round.
    mutating func letGo() { (pin, ownRound) = (nil, nil) }

    // MARK: Rounds

    /// Whether an entry can be added to the round, and where.
    private mutating func fits(_ header: WriteAhead.Header?, before first: Position, _ room: Int, _ file: File) throws -> Bool {
        guard let header, let base = header.base, let pin, UInt64(pin.transaction) <= base.transaction else { return false }
        // A pin that stays while other processes begin new rounds would keep ever more pages.
        guard header.round >= pinnedRound, header.round < pinnedRound + 4 else { return false }
        if header.round != round { (round, end, last) = (header.round, WriteAhead.entriesStart, .start) }
        guard try findEnd(before: first, file) else { return false }
        return end + room <= Self.limit(base)
    }

    /// Reads over the entries that other processes have added; false where they do not end where the log does.
    private mutating func findEnd(before first: Position, _ file: File) throws -> Bool {
        while last.next != first {
            let bytes = try file.read(WriteAhead.Frame.headerBytes, at: end)
            guard let frame = WriteAhead.Frame(bytes.lent, round: round), frame.last < first else { return false }
            let isNext = frame.first == last.next
            if !isNext, last > .start { return false }
            end += frame.pagesBytes
            last = frame.last
        }
        return true
    }

    /// How many pages a round may use, as a part of the file: none that it frees is reused before it ends.
    private static func limit(_ base: MetaPage) -> Int {
        let pages = min(max(Int(clamping: base.lastPage) / 24, 256), 1_024)
        return WriteAhead.entriesStart + pages * WriteAhead.pageBytes
    }

    /// Begins a round that goes back to the newest commit.
    private mutating func begin(after header: WriteAhead.Header?, _ transaction: UInt, _ file: File) throws -> WriteAhead.Header? {
        let environment = access.environment
        forgetHeaders()
        // Order: the commit and its meta page are durable, then its pages are kept, then the header leads to it, and only
        // then an entry takes the place of one of the round before.
        try Self.sync(header, file, environment)
        guard let pin = try environment.pin(), pin.transaction == transaction else { return nil }
        let base = try MetaPage.newest(of: data, pageBytes: environment.bytesOfPage, transaction: transaction)
        let next = WriteAhead.Header(round: (header?.round ?? 0) + 1, storeID: access.storeID, base: base)
        try WriteAhead.write(next, to: file)
        (self.pin, pinnedRound, ownRound, settledRound) = (pin, next.round, next.round, next.round)
        (round, end) = (next.round, WriteAhead.entriesStart)
        return next
    }

    /// The header that counts, taken apart only where the file's first bytes are others than before.
    private mutating func header(of file: File) throws -> WriteAhead.Header? {
        if !headers.areKnown {
            let bytes = try file.read(WriteAhead.headersBytes)
            if !bytes.lent.equals(headers.bytes.lent) { headers = (bytes, try WriteAhead.header(in: bytes, access.storeID), true) }
            headers.areKnown = true
        }
        return try Self.usable(headers.counting)
    }

    /// Has the headers read again: they were written, or may have been.
    mutating func forgetHeaders() { headers.areKnown = false }

    private static func header(of file: File, _ storeID: StoreID) throws -> WriteAhead.Header? {
        try usable(WriteAhead.header(of: file, storeID))
    }

    /// - Throws: where the end of its round has failed.
    private static func usable(_ header: WriteAhead.Header?) throws -> WriteAhead.Header? {
        if header?.hasFailed == true {
            throw EvstoreError.ioFailure(
                doing: "appending", reason: "the disk has failed; close the store in every process and open it again")
        }
        return header
    }

    /// Makes a header durable before entries rely on it: the process that wrote it may have been killed before its own sync, and the
    /// disk may still have the one before.
    private mutating func settle(_ header: WriteAhead.Header, _ file: File) throws {
        if header.round == settledRound { return }
        if Guard.settling.isOn { try WriteAhead.write(header, to: file) }
        settledRound = header.round
    }

    /// Makes everything that LMDB has committed durable. Once that has failed it is never tried again: it would succeed
    /// without the bytes that were lost.
    private static func sync(_ header: WriteAhead.Header?, _ file: File, _ environment: Environment) throws {
        do { try environment.sync() } catch {
            try fail(header, file)
            throw error
        }
    }

    /// The file to add to; nil where it can't be made or opened, which only makes appends slower.
    private mutating func usable() -> File? {
        if cannotOpen { return nil }
        do {
            let file = try opened()
            // Order: the process that made the file may have been killed before its name was durable.
            if !isNamed { try Directory.sync(access.environment.directory) }
            isNamed = true
            return file
        } catch {
            cannotOpen = true
            return nil
        }
    }

    private mutating func opened() throws -> File {
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
