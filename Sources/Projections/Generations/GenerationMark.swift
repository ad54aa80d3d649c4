internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// `mark`: identifies a generation's `data.mdb` and records how it was closed, as the anchor does for the log. A process that has the
/// generation open holds a shared lock on the file's first byte; a process that checks all pages, or marks it as closed, holds that lock
/// exclusively. A process that changes the mark while others use it holds the second byte while reading and writing it.
///
///     0   u32  "evm" and the format, 1
///     4   64   the mark (FileMark)
///     68  u64  XXH3-64 of the bytes before
final class GenerationMark: Sendable {
    private static let magic: UInt32 = 0x01_6d_76_65
    private static let size = 4 + FileMark.size + 8
    private static let (waitMilliseconds, changeMilliseconds) = (5, 1_000)

    private let directory: String
    /// Nil if the file does not exist and can't be created.
    private let file: File?
    private let isWritable: Bool
    private let hasBegun = Monitor(false)

    init(_ directory: String) throws(StorageError) {
        self.directory = directory
        let path = directory + "/mark"
        var file: File?
        var isWritable = true
        do throws(StorageError) { file = try File(path, .create) } catch {
            guard error.isReadOnly || error.isDiskFull else { throw error }
            isWritable = false
            if try Directory.status(path) != nil { file = try File(path, .read) }
        }
        (self.file, self.isWritable) = (file, isWritable)
    }

    /// Enters a generation that this process is creating.
    func make() throws {
        _ = try file?.lock(byte: 0, shared: true)
        try putIfRoom(FileMark(status(), isClosed: false))
    }

    /// Enters a generation. If its mark does not match the file, checks all pages first, which takes some seconds for a large read model;
    /// other processes wait in the meantime.
    /// - Throws: `EvstoreError.storeDamaged`, after recording the damage; `locked` if the time has passed.
    func enter(_ note: DamageNote, within limit: Duration) throws {
        guard let file else { return try walk(note, isShared: true) }
        let end = Instant.within(limit)
        while Instant.now < end {
            if try matches() {
                guard try file.lock(byte: 0, shared: true) else {
                    wait()
                    continue
                }
                // The process that held it exclusively may have recorded damage.
                try note.check()
                if try matches() { return }
                try file.unlock(byte: 0)
            } else if isWritable, try file.lock(byte: 0, shared: false) {
                try note.check()
                if try !matches() {
                    try walk(note, isShared: false)
                    // Order: the file is synced before it is marked, since it may have been copied there without a sync.
                    try File(directory + "/data.mdb", .read).sync()
                    try putIfRoom(FileMark(status(), isClosed: true))
                }
                _ = try file.lock(byte: 0, shared: true)
                return
            } else if try file.lock(byte: 0, shared: true) {
                // The mark may have been written between the first check and the lock.
                return try matches() ? () : walk(note, isShared: true)
            } else {
                wait()
            }
        }
        throw EvstoreError.locked(path: directory, holder: try file.lockHolderWords(byte: 0, doing: "looking at its pages"))
    }

    private func wait() { _ = Monitor(false).wait(milliseconds: Self.waitMilliseconds) { $0 } }

    /// Durably marks the file as in use before anything is written to it, so that after a power failure it does not count as closed. Syncs
    /// even if it is already marked, since the process that marked it may have been killed before its sync.
    func begin() throws {
        try hasBegun.withLock { hasBegun in
            if hasBegun { return }
            let isDone = try change {
                guard let mark = try read() else { return }
                try put(mark.matchesNothing ? mark : FileMark(status(), isClosed: false))
            }
            if !isDone, let file {
                throw EvstoreError.locked(path: directory, holder: try file.lockHolderWords(byte: 1, doing: "writing its mark"))
            }
            hasBegun = true
        }
    }

    /// Marks the file as doubtful after a disk failure, so that the next opening checks all pages.
    func markDoubtful() {
        do {
            if try change({ try put(.nothing) }) { return }
            try put(.nothing)
            try file?.sync()
        } catch {
            // If this fails, nothing else can be written there either; after the next boot, the pages are checked anyway.
        }
    }

    /// Durably changes the mark while no other process does. Returns false if another process was stopped in the middle of a change.
    private func change(_ body: () throws -> Void) throws -> Bool {
        guard let file, isWritable else { return true }
        guard try file.alone(byte: 1, waiting: Self.changeMilliseconds, body) else { return false }
        // Without the lock, so that a slow disk does not block other processes.
        try file.sync()
        return true
    }

    /// Leaves the generation after the environment is closed; the last process records how the file was closed.
    func leave() {
        guard let file else { return }
        do {
            try file.unlock(byte: 0)
            guard isWritable, try file.lock(byte: 0, shared: false) else { return }
            if let mark = try read(), !mark.isClosed, try matches() { try put(FileMark(status(), isClosed: true)) }
            try file.unlock(byte: 0)
        } catch {
            // The next opening, at the latest the first one after a boot, checks all pages.
        }
    }

    private func status() throws(StorageError) -> FileStatus { try File(directory + "/data.mdb", .read).status() }

    private func matches() throws -> Bool { try read()?.matches(status()) ?? false }

    /// Nil if there is no mark or only a torn one.
    private func read() throws -> FileMark? {
        guard let bytes = try file?.read(Self.size), bytes.count == Self.size else { return nil }
        let row = bytes.lent
        guard row.load(UInt32.self, at: 0) == Self.magic, checksum(row.slice(0, Self.size - 8)) == row.load(UInt64.self, at: Self.size - 8)
        else { return nil }
        return FileMark(row.slice(4, FileMark.size))
    }

    private func put(_ mark: FileMark) throws {
        guard let file, isWritable else { return }
        var row = ByteBuffer(capacity: Self.size)
        row.append(littleEndian: Self.magic)
        mark.append(to: &row)
        row.append(littleEndian: checksum(row.bytes))
        try file.write(row.array())
    }

    /// Writes the mark, but ignores a full disk: without the mark, only the next opening takes longer.
    private func putIfRoom(_ mark: FileMark) throws {
        do { try put(mark) } catch let error as StorageError where error.isDiskFull { return }
    }

    /// - Parameter isShared: whether other processes may be writing at the same time.
    private func walk(_ note: DamageNote, isShared: Bool) throws {
        guard Platform.Guard.generationPages.isOn else { return }
        let rows = CheckedTable.checks()
        do {
            let file = try File(directory + "/data.mdb", .read)
            if isShared { return try StructuralCheck.runBeside(file, tables: GenerationTable.kinds, rows: rows) }
            _ = try StructuralCheck.run(file, tables: GenerationTable.kinds, rows: rows)
        } catch let damage as StructureDamage {
            throw note.damaged("data.mdb, \(damage)")
        } catch let error as StorageError where error.isDamage { throw note.damaged(error.message) }
    }
}

/// Records that a generation is damaged, also for other processes, in a file `damaged` in its directory. It then counts as missing.
final class DamageNote: Sendable {
    private static let fileName = "/damaged"
    private let directory: String
    private let found = Monitor(false)

    init(_ directory: String) { self.directory = directory }

    func damaged(_ reason: String) -> EvstoreError {
        found.withLock { $0 = true }
        do { _ = try File(directory + Self.fileName, .create) } catch {
            // If the disk can't be written, the next reader will find the damage again.
        }
        return .storeDamaged(path: directory, reason: reason)
    }

    /// - Throws: `EvstoreError.storeDamaged` if damage was found before.
    func check() throws {
        let isNoted = try found.withLock { $0 } || Directory.status(directory + Self.fileName) != nil
        if isNoted { throw EvstoreError.storeDamaged(path: directory, reason: "it was found to be damaged and must be rebuilt") }
    }
}
