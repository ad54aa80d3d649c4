internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import System

/// `mark`: which file a generation's `data.mdb` is and how it was left, as the anchor says it of the log. Whoever has the
/// generation open holds a shared lock on the file's first byte; whoever looks at all pages, or says that nobody has it open
/// any more, holds it alone. Whoever changes the mark beside others holds the second byte from the look to the write.
///
///     0   u32  "evm" and the format, 1
///     4   64   the mark (FileMark)
///     68  u64  XXH3-64 of the bytes before
final class GenerationMark: Sendable {
    private static let magic: UInt32 = 0x01_6d_76_65
    private static let size = 4 + FileMark.size + 8
    private static let (waitMilliseconds, changeMilliseconds) = (5, 1_000)

    private let directory: String
    /// Nil where it is not there and can't be made.
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

    /// Comes in to a generation that this process is making.
    func make() throws {
        _ = try file?.lock(byte: 0, shared: true)
        try putIfRoom(FileMark(status(), isClosed: false))
    }

    /// Comes in: walks all pages first where nobody vouches for them. That takes some seconds of a large read model, and whoever
    /// comes meanwhile waits for it.
    /// - Throws: `EvstoreError.storeDamaged`, once it is noted; `locked` where the time has passed.
    func enter(_ note: DamageNote, within seconds: Double) throws {
        guard let file else { return try walk(note, isShared: true) }
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if try vouches() {
                guard try file.lock(byte: 0, shared: true) else {
                    wait()
                    continue
                }
                // Whoever had it alone may have noted that it is damaged.
                try note.check()
                if try vouches() { return }
                try file.unlock(byte: 0)
            } else if isWritable, try file.lock(byte: 0, shared: false) {
                try note.check()
                if try !vouches() {
                    try walk(note, isShared: false)
                    // Order: whoever put the file there may not have made durable what was looked at.
                    try File(directory + "/data.mdb", .read).sync()
                    try putIfRoom(FileMark(status(), isClosed: true))
                }
                _ = try file.lock(byte: 0, shared: true)
                return
            } else if try file.lock(byte: 0, shared: true) {
                // It may have been put between the look and the lock.
                return try vouches() ? () : walk(note, isShared: true)
            } else {
                wait()
            }
        }
        throw EvstoreError.locked(path: directory, holder: try file.lockHolderWords(byte: 0, doing: "looking at its pages"))
    }

    private func wait() { _ = Monitor(false).wait(milliseconds: Self.waitMilliseconds) { $0 } }

    /// Says durably that the file is in use, before anything is written to it: after a power cut nobody takes it for one that
    /// was closed. Another process may have said so already, or that nobody vouches for it, and been ended before its sync.
    func begin() throws {
        try hasBegun.withLock { hasBegun in
            if hasBegun { return }
            let isDone = try change {
                guard let mark = try read() else { return }
                try put(mark.vouchesForNothing ? mark : FileMark(status(), isClosed: false))
            }
            if !isDone, let file {
                throw EvstoreError.locked(path: directory, holder: try file.lockHolderWords(byte: 1, doing: "writing its mark"))
            }
            hasBegun = true
        }
    }

    /// Says that nobody vouches for the file: its disk has failed.
    func disown() {
        do {
            if try change({ try put(.nothing) }) { return }
            try put(.nothing)
            try file?.sync()
        } catch {
            // Nor can anything else be written there; after the next boot it is walked all the same.
        }
    }

    /// Changes the mark durably, and nobody else meanwhile; false where somebody was stopped who does.
    private func change(_ body: () throws -> Void) throws -> Bool {
        guard let file, isWritable else { return true }
        return try file.alone(byte: 1, waiting: Self.changeMilliseconds) {
            try body()
            try file.sync()
        }
    }

    /// Goes out, when the environment has been closed: the last one says how the file is left.
    func leave() {
        guard let file else { return }
        do {
            try file.unlock(byte: 0)
            guard isWritable, try file.lock(byte: 0, shared: false) else { return }
            if let mark = try read(), !mark.isClosed, try vouches() { try put(FileMark(status(), isClosed: true)) }
            try file.unlock(byte: 0)
        } catch {
            // Who opens it next, after a boot at the latest, looks at all of its pages.
        }
    }

    private func status() throws(StorageError) -> FileStatus { try File(directory + "/data.mdb", .read).status() }

    private func vouches() throws -> Bool { try read()?.vouches(for: status()) ?? false }

    /// Nil where there is none, or only a torn one.
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

    /// The same where nothing is lost without it but the time of the next walk.
    private func putIfRoom(_ mark: FileMark) throws {
        do { try put(mark) } catch let error as StorageError where error.isDiskFull { return }
    }

    /// - Parameter isShared: others may be writing, whom this process can't keep out.
    private func walk(_ note: DamageNote, isShared: Bool) throws {
        guard System.Guard.generationPages.isOn else { return }
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
