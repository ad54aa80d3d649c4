internal import Glibc
internal import Platform
internal import Synchronization

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
    private let holder = Monitor<(thread: Int32, since: ContinuousClock.Instant)?>(nil)
    private let isHolderKnown = Atomic(false)

    /// Much longer than the microseconds for which the mutex is held.
    static let patience = Duration.seconds(5)
    /// How often the mutex is tried without a pause: this takes longer than any work under it.
    private static let quickLooks = 200

    /// Nil where the table has another layout, so that the mutex can't be found. The file is not kept open: closing it would drop this
    /// process's locks on it.
    init?(_ lockFile: LockFile) throws(StorageError) {
        guard try lockFile.isOfKnownFormat() else { return nil }
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

    /// Returns the result of taking the mutex.
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
            let now = ContinuousClock.now
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
