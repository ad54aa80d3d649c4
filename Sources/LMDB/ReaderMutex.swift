internal import Glibc
internal import Platform
internal import Synchronization

/// The mutex in `lock.mdb` under which LMDB changes its table of readers, where it begins a read that has no slot yet and where it frees
/// those of the dead.
///
/// LMDB waits for it without a deadline, and a process that is stopped while it has it keeps it. So whoever is about to call LMDB for one
/// of these takes it first, with a deadline, and gives it back: LMDB then finds it free, but for somebody who is stopped in between.
/// A holder that has ended is told by the kernel, as the mutex is a robust one; it leaves nothing to be put right, since a slot is
/// taken by the last word that is written to it.
@safe
final class ReaderMutex: @unchecked Sendable {
    // Sound to share: that is what a mutex is for.
    private let page: SharedPage
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Who had it when somebody last waited in vain, and since when it is known to be held.
    private let holder = Monitor<(thread: Int32, since: ContinuousClock.Instant)?>(nil)
    private let isHolderKnown = Atomic(false)

    /// It is held for microseconds.
    static let patienceSeconds = 5.0
    /// Looks without a pause, which is longer than anybody works under it.
    private static let quickLooks = 200

    /// Nil where the table is of another format: nothing is known of its mutex then. The file is not kept open: when it is closed, this
    /// process's locks on it go.
    init?(_ lockFile: LockFile) throws(StorageError) {
        guard try lockFile.isOfKnownFormat() else { return nil }
        page = try SharedPage(lockFile.file)
        unsafe mutex = (page.start + LockFile.mutexOffset).assumingMemoryBound(to: pthread_mutex_t.self)
    }

    /// Returns when nobody has it. A moment where it is free; else blocks the thread.
    /// - Parameter isOpen: whether a process has the environment open. Only such a one is named: the thread that has the mutex may be one of
    ///   another container.
    /// - Throws: `StorageError` with `waitedSeconds` where one has held it for longer than anybody works under it.
    func awaitFree(_ isOpen: (Int32) throws(StorageError) -> Bool) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        var code = unsafe pthread_mutex_trylock(mutex)
        if code == EBUSY { code = try wait(isOpen) }
        if code == EOWNERDEAD { code = unsafe pthread_mutex_consistent(mutex) }
        // What else there is LMDB comes upon, and says.
        guard code == 0 else { return }
        unsafe pthread_mutex_unlock(mutex)
        if isHolderKnown.load(ordering: .relaxed) { forgetHolder() }
    }

    /// What taking it came to.
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
            if waited >= Self.patienceSeconds { throw StorageError(waited: waited, for: Self.words(of: thread, isOpen)) }
            usleep(500)
        }
    }

    /// Which thread has it, and for how many seconds that is known: whoever comes when others have waited in vain does not wait again.
    private func noteHolder() -> (thread: Int32, waited: Double) {
        let thread = unsafe mutex.pointee.__data.__owner
        let since = holder.withLock { holder in
            if let holder, holder.thread == thread { return holder.since }
            let now = ContinuousClock.now
            holder = (thread, now)
            return now
        }
        isHolderKnown.store(true, ordering: .relaxed)
        return (thread, since.duration(to: .now) / .seconds(1))
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
        return "\(File.unseen) (\(what))"
    }
}
