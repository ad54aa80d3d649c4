package import Bytes
package import EventModel
package import Hashing
internal import LMDB
package import Platform

/// `anchor`: the log's end after a commit, kept beside the log. With it, opening notices a log that has lost its last commits to a damaged
/// meta page, and a file that was exchanged or changed.
///
///     0   u32  "eva" and the format, 1
///     4   u32  epoch
///     8   16   store id
///     24  u64  last position
///     32  32   link of the last block
///     64  u64  inode of data.mdb, 72 u64 its bytes, 80 i64 when it was last changed (st_ctime, nanoseconds): the last
///              two if no process has the store open, else 0
///     88  36   the machine's boot id while a process has the store open, else zeros
///     124 u32  the low half of data.mdb's device number
///     128 u64  XXH3-64 of the bytes before
package struct Anchor: Hashable {
    package var epoch: Epoch
    package var storeID: StoreID
    package var last: Position
    package var link: Digest
    var mark: FileMark

    static let fileName = "/anchor"
    private static let magic: UInt32 = 0x01_61_76_65
    private static let size = 136

    var bytes: [UInt8] {
        var row = ByteBuffer(capacity: Self.size)
        write(&row)
        return row.array()
    }

    /// The part about the log: the bytes before the file's mark.
    var end: [UInt8] { Array(bytes.prefix(64)) }

    /// Writes the bytes into a buffer that is reused.
    func write(_ row: inout ByteBuffer) {
        row.removeAll()
        row.append(littleEndian: Self.magic)
        row.append(littleEndian: epoch.rawValue)
        storeID.append(to: &row)
        row.append(littleEndian: last.rawValue)
        link.append(to: &row)
        mark.append(to: &row)
        let sum = checksum(row.bytes)
        row.append(littleEndian: sum)
    }

    /// Nil where there is none, or only a torn one.
    package static func read(at store: String) throws -> Anchor? {
        guard try Directory.status(store + fileName) != nil else { return nil }
        return try read(File(store + fileName, .read))
    }

    /// The later one of the anchor and of the note in the shared page. The note is up to a second newer if no process had time to close the
    /// store.
    package static func newest(at store: String) throws -> Anchor? {
        var noted: [UInt8] = []
        // A page that can't be read proves nothing.
        do throws(StorageError) { noted = try TurnPage.noted(size, in: store + "/log") } catch {}
        let found = try [read(at: store), Anchor(noted)].compactMap { $0 }
        return found.max { ($0.epoch, $0.last) < ($1.epoch, $1.last) }
    }

    fileprivate static func read(_ file: File) throws -> Anchor? { Anchor(try file.read(size)) }

    private init?(_ bytes: [UInt8]) {
        let (size, magic) = (Self.size, Self.magic)
        let row = bytes.lent
        guard bytes.count == size, row.load(UInt32.self, at: 0) == magic,
            checksum(row.slice(0, size - 8)) == row.load(UInt64.self, at: size - 8),
            let storeID = StoreID(Array(bytes[8 ..< 24])), let link = Digest(Array(bytes[32 ..< 64]))
        else { return nil }
        (epoch, self.storeID, self.link) = (Epoch(row.load(UInt32.self, at: 4)), storeID, link)
        (last, mark) = (Position(row.load(UInt64.self, at: 24)), FileMark(row.slice(64, FileMark.size)))
    }

    init(epoch: Epoch, storeID: StoreID, last: Position, link: Digest, mark: FileMark) {
        (self.epoch, self.storeID, self.last, self.link, self.mark) = (epoch, storeID, last, link, mark)
    }

    /// Compares the anchor with a log that was read later, and so may only have more.
    /// - Throws: `EvstoreError.storeDamaged` where the log ends earlier than the anchor says, or with another link.
    func check(_ end: Checkpoint, _ transaction: borrowing ReadTransaction, _ access: LogAccess, _ store: String) throws {
        guard Guard.anchor.isOn else { return }
        func damaged(_ reason: String) -> EvstoreError { .storeDamaged(path: store, reason: reason) }
        guard storeID == access.storeID else { throw damaged("its anchor belongs to another store") }
        guard epoch <= end.epoch else { throw damaged("the log is at epoch \(end.epoch) and its anchor at \(epoch)") }
        // A cut was made since then: the anchor is old, not wrong.
        if epoch < end.epoch { return }
        guard last <= end.position else {
            throw damaged("the log ends at position \(end.position) and has held \(last): its last commits are lost")
        }
        guard try last == .start || Blocks.holding(last, transaction, access)?.link == link else {
            throw damaged("the block at position \(last) is not the one that was committed")
        }
    }
}

/// Keeps the anchor: the noted end of a commit is written and synced within about a second, and on closing. On the disk of a node of a
/// cluster log it may be newer than the log; recovering the node corrects that.
///
/// A process whose disk has failed marks the log's file as doubtful. The mark stays until all pages were checked, whichever process writes
/// the anchor next: a process that changes it holds the lock on the anchor's first byte from the check to the write.
final class AnchorFile: Sendable {
    private struct State {
        /// The noted anchor, which is still to be written.
        var noted: Anchor?
        /// The epoch of the anchor in the file; nil while the file has no anchor that could be marked as doubtful.
        var epoch: Epoch?
        var synced = Instant.now
    }

    private static let waitMilliseconds = 1_000
    private let file: File
    private let state = Monitor(State())
    /// Held by the thread that writes: the lock on the file's byte belongs to the process, and keeps out only other processes.
    private let turn = Monitor(())

    init(at store: String) throws { file = try File(store + Anchor.fileName, .create) }

    /// Marks the file durably as in use before anything is written to it, so that it does not count as closed after a power cut. It syncs
    /// even if the file is marked already, since the process that marked it may have been killed before its sync; and it syncs without the
    /// lock, so that no process is refused because a disk is slow.
    /// - Throws: `EvstoreError.locked` where another process was stopped while it wrote the anchor.
    func begin(_ mark: FileMark) throws {
        let isDone = try alone(Self.waitMilliseconds) {
            let found = try Anchor.read(file)
            state.withLock { $0.epoch = found?.epoch }
            if let found { try put(found, marked: mark) }
        }
        if !isDone { throw EvstoreError.locked(path: file.path, holder: writer ?? File.unknownHolder) }
        try file.sync()
    }

    /// The process that is writing the anchor, for messages; nil where it is unknown.
    var writer: String? {
        do { return try file.lockHolder(byte: 0).map { "process \($0.process) (writing the anchor)" } } catch { return nil }
    }

    /// Marks the file as doubtful: the next opening checks all of its pages.
    func markDoubtful() throws {
        func write() throws {
            guard var anchor = try Anchor.read(file) else { return }
            anchor.mark = .nothing
            try file.write(anchor.bytes)
        }
        if try !alone(Self.waitMilliseconds, write) { try write() }
        try file.sync()
    }

    /// Notes the log's end after a commit. It is usually not written here: no commit waits for an anchor, and an anchor that is a second
    /// old misses only a second. Two anchors are written at once, the first one of a file and the first one of an epoch, so that the file
    /// can be marked as doubtful and a cut stays known.
    func note(_ end: Anchor) throws {
        let isDue = state.withLock { state in
            defer { (state.noted, state.epoch) = (end, end.epoch) }
            return state.epoch != end.epoch
        }
        if isDue { try sync() }
    }

    /// Writes the log's end durably, for the last process that closes the store.
    func leave(_ end: Anchor) throws {
        try note(end)
        try sync(waiting: Self.waitMilliseconds)
    }

    private func put(_ end: Anchor, marked mark: FileMark) throws {
        var anchor = end
        anchor.mark = try Anchor.read(file)?.mark.matchesNothing == true ? .nothing : mark
        try file.write(anchor.bytes)
    }

    /// Whether a note is still to be written and the last write is at least this old.
    func isDue(_ age: Duration) -> Bool { state.withLock { $0.noted != nil && $0.synced.duration(to: .now) >= age } }

    var isDirty: Bool { state.withLock { $0.noted != nil } }

    /// Makes the note durable; if another process is writing the anchor at the moment, the next call does so.
    func sync(waiting milliseconds: Int = 0) throws {
        guard isDirty else { return }
        var isWritten = false
        _ = try alone(milliseconds) {
            let due = state.withLock { state -> Anchor? in
                state.synced = .now
                return state.noted.take()
            }
            guard let due else { return }
            try put(due, marked: due.mark)
            isWritten = true
        }
        if isWritten { try file.sync() }
    }

    /// Runs `body` while no other thread or process writes the anchor; false where another process writes it during all of that time.
    private func alone(_ milliseconds: Int, _ body: () throws -> Void) throws -> Bool {
        try turn.withLock { _ in try file.alone(byte: 0, waiting: milliseconds, body) }
    }
}

/// Identifies a `data.mdb` and the state in which it was left. A file that matches was changed only by the store, so that its pages need no
/// check.
package struct FileMark: Hashable, Sendable {
    /// Zero in the anchors of older programs, which match no file.
    private let inode: UInt64
    private let device: UInt32
    /// The file's size and the time of its last change (`st_ctime`, which no program can set back), if no process has it open; else zero.
    private let bytes: UInt64
    private let changed: Int64
    /// The machine's boot id while a process has the file open, 36 bytes; zeros if none has.
    private let boot: [UInt8]

    package static let size = 64
    private static let noBoot = [UInt8](repeating: 0, count: 36)
    private static let thisBoot = Array((Array(ProcessIdentity.boot.utf8) + noBoot).prefix(36))

    /// The mark of a file that is in use, or that no process has open any more.
    package init(_ status: FileStatus, isClosed: Bool) {
        (inode, device) = (status.inode, UInt32(truncatingIfNeeded: status.device))
        (bytes, changed) = isClosed ? (UInt64(status.bytes), status.changed) : (0, 0)
        boot = isClosed ? Self.noBoot : Self.thisBoot
    }

    package init(_ row: RawSpan) {
        (inode, bytes, changed) = (row.load(UInt64.self, at: 0), row.load(UInt64.self, at: 8), row.load(Int64.self, at: 16))
        (boot, device) = ([UInt8](copying: row.slice(24, 36)), row.load(UInt32.self, at: 60))
    }

    /// The mark of a file whose disk has failed: it matches no file.
    package static let nothing = FileMark([UInt8](repeating: 0, count: size).lent)

    package var isClosed: Bool { boot == Self.noBoot }
    package var matchesNothing: Bool { inode == 0 }

    package func append(to row: inout ByteBuffer) {
        row.append(littleEndian: inode)
        row.append(littleEndian: bytes)
        row.append(littleEndian: changed)
        row.append(boot)
        row.append(littleEndian: device)
    }

    /// Whether the file is in the state in which it was left: closed and not changed since, or in use during this boot, in which even a
    /// killed process leaves no torn page.
    package func matches(_ status: FileStatus) -> Bool {
        guard inode != 0, inode == status.inode, device == UInt32(truncatingIfNeeded: status.device) else { return false }
        return isClosed ? bytes == UInt64(status.bytes) && changed == status.changed : boot == Self.thisBoot
    }
}

/// `log/data.mdb` as a file, without LMDB.
enum LogFile {
    private static let name = "/log/data.mdb"

    static func status(at store: String) throws(StorageError) -> FileStatus { try File(store + name, .read).status() }

    /// Whether the file's pages must be checked: it was copied, restored or changed, or the machine stopped while it was in use.
    static func isDoubtful(at store: String) throws -> Bool {
        // A missing file is reported by the opening that follows.
        guard try Directory.status(store + name) != nil else { return false }
        return try Anchor.read(at: store)?.mark.matches(status(at: store)) != true
    }

    /// Notes that all pages were checked, if there is an anchor. This process must have the store alone.
    static func markChecked(at store: String) throws {
        guard var anchor = try Anchor.read(at: store) else { return }
        // Order: synced first. The file may have been copied without a sync, and what was checked must be durable.
        try File(store + name, .read).sync()
        anchor.mark = FileMark(try status(at: store), isClosed: true)
        let file = try File(store + Anchor.fileName, .create)
        try file.write(anchor.bytes)
        try file.sync()
    }

    /// Writes the anchor with the log's end and the file's mark; the mark says closed if no other process has the file open.
    @discardableResult
    static func writeAnchor(
        at store: String, _ storeID: StoreID, _ last: Checkpoint, _ link: Digest, isClosed: Bool = true
    ) throws -> Anchor {
        let mark = FileMark(try status(at: store), isClosed: isClosed)
        let anchor = Anchor(epoch: last.epoch, storeID: storeID, last: last.position, link: link, mark: mark)
        try AnchorFile(at: store).leave(anchor)
        return anchor
    }

    /// Checks the pages of a commit, by default the newest, and every row's checksum.
    /// - Parameter isShared: whether other processes may be writing meanwhile.
    /// - Throws: `EvstoreError.storeDamaged`, with the page and the broken rule.
    static func check(at store: String, asOf meta: MetaPage? = nil, isShared: Bool = false) throws {
        guard Guard.structure.isOn else { return }
        let identity = try Manifest.identity(at: store)
        let tables = TableDescriptor.log
        let rows = identity.hasRowChecksums ? tables.rowChecks(of: identity.id.tag) : [:]
        do {
            let file = try File(store + name, .read)
            if isShared { return try StructuralCheck.runBeside(file, tables: tables.kinds, rows: rows) }
            _ = try StructuralCheck.run(file, asOf: meta, tables: tables.kinds, rows: rows)
        } catch let damage as StructureDamage {
            throw EvstoreError.storeDamaged(path: store, reason: "log/data.mdb, \(damage)")
        }
    }
}
