internal import Bytes
internal import Glibc
internal import Platform
internal import Synchronization

/// `lock.mdb`, kept open beside LMDB for as long as the environment is open. LMDB has two locks of this process on it (`fcntl(2)`): a
/// shared one on byte 0, which says that a process has the environment open, and one on the byte of its process id, which says that the
/// readers with that id are alive. Both are lost when any part of this process closes any descriptor of the file. So this descriptor has a
/// third lock, on a byte that LMDB does not use: taken after LMDB's locks and released before them. If it exists without the lock on byte
/// 0, a process has lost LMDB's locks.
///
/// Two processes in different containers (pid namespaces) may have the same id, which LMDB can't know: it then takes slots of the dead
/// process for those of the living one, and the second of the two gets EAGAIN when it reads.
///
/// LMDB 0.9's table of readers (`MDB_txninfo`): u32 magic, u32 format, a mutex, u64 last transaction, u32 number of slots, in
/// cache lines of 64 bytes; the writers' mutex, likewise; then the slots, a cache line each: u64 transaction, i32 process,
/// u64 thread. A process of 0 is a free slot.
final class LockFile: Sendable {
    let file: File

    private static let magic: UInt32 = 0xBEEF_C0DE
    /// Version 1, with locks on process numbers.
    private static let format: UInt32 = 1 | 1 << 16
    private static let lineBytes = 64
    private static let mutexBytes = unsafe MemoryLayout<pthread_mutex_t>.size
    static let mutexOffset = 8
    private static let countOffset = mutexOffset + mutexBytes + 8
    private static let slotsOffset = lines(countOffset + 4) + lines(mutexBytes)
    private static let processOffset = 8
    /// Beyond all process ids.
    private static let openByte = 1 << 32

    private static func lines(_ bytes: Int) -> Int { (bytes + lineBytes - 1) / lineBytes * lineBytes }

    /// Nil where the file is missing or can't be written: LMDB then reads without one, or refuses.
    init?(_ directory: String) throws(StorageError) {
        do throws(StorageError) { file = try File(directory + "/lock.mdb", .write) } catch {
            if error.isReadOnly || error.isNotFound { return nil }
            throw error
        }
    }

    /// Gives the file all the blocks that it needs, before LMDB maps it: a copy may have holes, and LMDB extends a file that is too short
    /// by a hole. It does so only where no process has the file open.
    /// - Throws: ENOSPC where the disk is full: a process that writes into a hole through a map is killed then.
    func fillHoles(readersMax: Int) throws(StorageError) {
        guard Guard.lockRoom.isOn else { return }
        let isOpen = try file.isLockedByOtherProcess(byte: 0)
        try file.fillHoles(leastBytes: isOpen ? 0 : max(SharedPage.bytes, Self.slotsOffset + readersMax * Self.lineBytes))
    }

    private static var ownByte: Int { Int(ProcessIdentity.id) }

    /// Takes the lock on this process's id, before LMDB opens the file.
    /// - Throws: where a living process has the same id, or a process has lost LMDB's lock on byte 0: LMDB would make the table of readers
    ///   anew, and the two processes would overwrite each other's pages.
    func enter() throws(StorageError) {
        guard try Self.comes(true, try file.lockForProcess(byte: Self.ownByte)) else {
            throw StorageError(
                held: "process \(ProcessIdentity.id) of another container: LMDB tells readers by their numbers, and this process has "
                    + "the same; start one of the two with an init process (in Docker its option init), or in the other's pid namespace")
        }
        guard Guard.lockKept.isOn, try Self.comes(false, try isLost()) else { return }
        throw StorageError(
            held: "a process that has lost LMDB's lock on it, because \(file.path) was opened and closed inside that process: close the "
                + "store there; what copies a store while it is open is a backup")
    }

    /// Whether another process has the environment open without LMDB's lock on byte 0.
    private func isLost() throws(StorageError) -> Bool {
        if try file.isLockedByOtherProcess(byte: 0) { return false }
        return try file.isLocked(byte: Self.openByte)
    }

    /// Asks until the answer is `wanted`, for at most five seconds, and returns the last answer: the locks of a process that has just ended
    /// do not go at once, and another process may open the file between two questions.
    private static func comes(_ wanted: Bool, _ ask: @autoclosure () throws(StorageError) -> Bool) throws(StorageError) -> Bool {
        let end = Instant.now + .seconds(5)
        while true {
            let answer = try ask()
            if answer == wanted || Instant.now > end { return answer }
            _ = Monitor(false).wait(milliseconds: 5) { $0 }
        }
    }

    /// Frees the slots that a dead process with this id has left, and takes the lock that says that this process has the environment open.
    /// Called after LMDB has opened the file and before anything is read.
    func sayOpen() throws(StorageError) {
        try freeSlots()
        _ = try file.lock(byte: Self.openByte, shared: true)
    }

    /// Releases that lock, before LMDB closes the file. Where this fails, closing the descriptor ends the lock.
    func sayClosed() { do throws(StorageError) { try file.unlock(byte: Self.openByte) } catch {} }

    /// Frees the slots with this process's id. They belong to a dead process, and LMDB never clears them. This is how LMDB frees a reader's
    /// own slot: without its mutex, by one atomic write. Another process may have freed the slot meanwhile and a reader may have taken it;
    /// its id is then a different one.
    func freeSlots() throws(StorageError) {
        guard let count = try slotsCount() else { return }
        let bytes = Self.slotsOffset + count * Self.lineBytes
        guard try file.status().bytes >= bytes else { return }
        let map = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
        guard let map = unsafe map, unsafe map != MAP_FAILED else { throw .system("mapping \(file.path)") }
        defer { unsafe munmap(map, bytes) }
        for slot in 0 ..< count {
            let place = unsafe map + Self.slotsOffset + slot * Self.lineBytes + Self.processOffset
            let process = unsafe place.assumingMemoryBound(to: Atomic<Int32>.self)
            _ = unsafe process.pointee.compareExchange(expected: ProcessIdentity.id, desired: 0, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether a process has the environment open.
    func isOpen(in process: Int32) throws(StorageError) -> Bool {
        if process == ProcessIdentity.id { return true }
        return try file.processWithLock(byte: Int(process)) == process
    }

    /// How many slots were ever taken; nil where the table has another layout.
    func slotsCount() throws(StorageError) -> Int? {
        let head = try file.read(Self.slotsOffset)
        guard head.count == Self.slotsOffset, head.lent.load(UInt32.self, at: 0) == Self.magic,
            head.lent.load(UInt32.self, at: 4) == Self.format
        else { return nil }
        return Int(head.lent.load(UInt32.self, at: Self.countOffset))
    }

    /// - Throws: where this process has lost LMDB's locks: the next process to open the environment would believe to be the first, and the
    ///   two would overwrite each other's pages.
    func check() throws(StorageError) {
        // A lock of the process conflicts with one of a descriptor, even within one process.
        guard Guard.lockKept.isOn, try !file.isLocked(byte: Self.ownByte) else { return }
        throw StorageError(
            misuse: "\(file.path) was opened and closed inside this process, which took LMDB's locks away: close the store and open it "
                + "again; what copies a store while it is open is a backup")
    }
}

/// The mutex in `lock.mdb` under which LMDB changes its table of readers: when it begins a read that has no slot yet, and when it frees the
/// slots of dead processes.
///
/// LMDB waits for the mutex without a deadline, and a process that is stopped while it has the mutex keeps it. So before a call of LMDB
/// that needs the mutex, this process takes it with a deadline and gives it back: LMDB then finds it free, unless another process takes it
/// in between and is stopped. If the holder has ended, the kernel says so, since the mutex is a robust one. Nothing has to be repaired
/// then, since a slot is taken by the last word that is written to it.
@safe
final class ReaderMutex: @unchecked Sendable {
    // Sound to share: the mutex itself guards what is shared.
    private let page: SharedPage
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The thread that had the mutex when a wait for it last failed to end soon, and since when it is known to have it.
    private let holder = Monitor<(thread: Int32, since: Instant)?>(nil)
    private let isHolderKnown = Atomic(false)

    /// Much longer than the microseconds for which the mutex is held.
    static let patience = Duration.seconds(5)
    /// How often the mutex is tried without a pause: this takes longer than any work under it.
    private static let quickLooks = 200

    /// Nil where the table has another layout, so that the mutex can't be found. The file is not kept open: closing it would drop this
    /// process's locks on it.
    init?(_ lockFile: LockFile) throws(StorageError) {
        guard try lockFile.slotsCount() != nil else { return nil }
        page = try SharedPage(lockFile.file)
        unsafe mutex = (page.start + LockFile.mutexOffset).assumingMemoryBound(to: pthread_mutex_t.self)
    }

    /// Returns when no thread has the mutex: at once where it is free, else it blocks the calling thread.
    /// - Parameter isOpen: whether a process has the environment open. Only such a process is named: the thread that has the mutex may be
    ///   in another container.
    /// - Throws: `StorageError` with `waited` where a thread has held it for longer than any work under it takes.
    func awaitFree(_ isOpen: (Int32) throws(StorageError) -> Bool) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        var code = unsafe pthread_mutex_trylock(mutex)
        if code == EBUSY { code = try wait(isOpen) }
        if code == EOWNERDEAD { code = unsafe pthread_mutex_consistent(mutex) }
        // LMDB itself meets any other error, and reports it.
        guard code == 0 else { return }
        unsafe pthread_mutex_unlock(mutex)
        if isHolderKnown.load(ordering: .relaxed) { forgetHolder() }
    }

    private func wait(_ isOpen: (Int32) throws(StorageError) -> Bool) throws(StorageError) -> Int32 {
        var looks = 0
        while true {
            let code = unsafe pthread_mutex_trylock(mutex)
            if code != EBUSY { return code }
            looks += 1
            if looks < Self.quickLooks {
                sched_yield()
                continue
            }
            let (thread, waited) = noteHolder()
            if waited >= Self.patience { throw StorageError(waited: waited, for: Self.words(of: thread, isOpen)) }
            usleep(500)
        }
    }

    /// The thread that has the mutex, and for how long this is known: once a wait has ended in vain, those that come later don't
    /// wait again.
    private func noteHolder() -> (thread: Int32, waited: Duration) {
        let thread = unsafe mutex.pointee.__data.__owner
        let since = holder.withLock { holder in
            if let holder, holder.thread == thread { return holder.since }
            let now = Instant.now
            holder = (thread, now)
            return now
        }
        isHolderKnown.store(true, ordering: .relaxed)
        return (thread, since.duration(to: .now))
    }

    private func forgetHolder() {
        holder.withLock { $0 = nil }
        isHolderKnown.store(false, ordering: .relaxed)
    }

    private static func words(of thread: Int32, _ isOpen: (Int32) throws(StorageError) -> Bool) -> String {
        let what = "changing LMDB's table of readers"
        do throws(StorageError) {
            let text = try File("/proc/\(thread)/status", .read).read(4_096)
            let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Tgid:") }
            let process = line.flatMap { Int32($0.dropFirst(5).drop(while: \.isWhitespace)) }
            if let process, try isOpen(process) { return "process \(process) (\(what))" }
        } catch {}
        return "\(File.unknownHolder) (\(what))"
    }
}
