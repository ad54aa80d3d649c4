internal import Bytes
package import Platform
internal import Synchronization

/// `turn`, beside `lock.mdb`: a page that all writers of an environment map. It only makes turns quicker. The lock on `lock.mdb` alone says
/// who has the turn, and the kernel frees it in whatever way its holder ends. Everything is as safe without the page, or beside a program
/// that does not know it.
///
///     0     u32  1 where a writer waits for the turn that a process keeps leased
///     4     u32  how often a turn was handed over, on which waiting writers sleep (futex(2))
///     8     u32  how often a process has taken the lock
///     64         words of the environment's owner (`page`)
///     1024       what the environment's owner keeps there (`note`)
package final class TurnPage: Sendable {
    static let name = "turn"
    package static let noteOffset = 1_024
    private static let (wanted, handed, taken) = (0, 4, 8)
    package let page: SharedPage

    /// Nil where the page is missing and can't be made.
    init?(_ directory: String) throws(StorageError) {
        let path = directory + "/" + Self.name
        // On a full disk, touching a page without a block would raise a signal: the file gets its blocks first.
        let isThere = try Environment.makeOnce(Self.name, in: directory) { (file) throws(StorageError) in try Self.fill(file, from: 0) }
        guard isThere else { return nil }
        let file = try File(path, .write)
        let bytes = try file.status().bytes
        if bytes < SharedPage.bytes { try Self.fill(file, from: bytes) }
        page = try SharedPage(file)
    }

    /// The page, mapped for reading only; nil where it is missing.
    package static func lookOnly(_ directory: String) throws(StorageError) -> SharedPage? {
        let path = directory + "/" + name
        if try Directory.status(path) == nil { return nil }
        let file = try File(path, .read)
        let status = try file.status()
        if status.bytes < SharedPage.bytes { return nil }
        // On tmpfs even reading a hole through a map takes a block. A page of holes says nothing: nobody has it mapped.
        if status.bytesOnDisk < SharedPage.bytes, case .ephemeral("tmpfs", _) = try FileSystem.of(path) { return nil }
        return try SharedPage(file, isWritable: false)
    }

    private static func fill(_ file: File, from start: Int) throws(StorageError) {
        try file.reserve(SharedPage.bytes)
        try file.write([UInt8](repeating: 0, count: SharedPage.bytes - start), at: start)
    }

    /// Whether a writer waits for the turn.
    var isWanted: Bool { page.word(Self.wanted) { $0.load(ordering: .acquiring) } != 0 }

    /// Asks the process that has leased the turn to hand it over.
    func ask() { page.word(Self.wanted) { $0.store(1, ordering: .sequentiallyConsistent) } }

    /// Withdraws the request, once this process has the turn.
    func withdrawRequest() { page.word(Self.wanted) { $0.store(0, ordering: .sequentiallyConsistent) } }

    /// The counter that `sleep` compares with: read before the turn is tried.
    var handed: UInt32 { page.word(Self.handed) { $0.load(ordering: .sequentiallyConsistent) } }

    /// Sleeps until the turn is handed over; may return early.
    func sleep(after seen: UInt32, microseconds: Int) { page.sleep(while: seen, at: Self.handed, microseconds: microseconds) }

    /// Wakes the waiting writers, once the lock is free; false where none waits.
    func handOver() -> Bool {
        guard isWanted, page.word(Self.wanted, { $0.exchange(0, ordering: .sequentiallyConsistent) }) != 0 else { return false }
        _ = page.word(Self.handed) { $0.wrappingAdd(1, ordering: .sequentiallyConsistent) }
        page.wake(at: Self.handed)
        return true
    }

    /// Counts that a process has taken the lock: if another process does so during a lease, the lease has ended.
    func count() -> UInt32 { page.word(Self.taken) { $0.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue } }

    var lastTaken: UInt32 { page.word(Self.taken) { $0.load(ordering: .sequentiallyConsistent) } }

    /// Keeps bytes in the page until others are written; only the process that has the turn may do so. They outlive the process. After the
    /// machine has stopped, they may be those of any earlier moment, or parts of them.
    package func note(_ bytes: RawSpan) { page.put(bytes, at: Self.noteOffset) }

    /// Clears the noted bytes if they begin with `start`.
    package func forget(_ start: RawSpan) {
        if page.bytes(start.byteCount, at: Self.noteOffset).lent.equals(start) {
            page.put([UInt8](repeating: 0, count: SharedPage.bytes - Self.noteOffset).lent, at: Self.noteOffset)
        }
    }

    /// The first bytes that were noted in an environment's directory; fewer where there is no page.
    package static func noted(_ count: Int, in directory: String) throws(StorageError) -> [UInt8] {
        let path = directory + "/" + name
        guard try Directory.status(path) != nil else { return [] }
        return try File(path, .read).read(count, at: noteOffset)
    }
}
