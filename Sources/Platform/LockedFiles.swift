internal import Glibc

/// The open files that have locks of their open file description. A fork gives these descriptions to the child as well: there the locks
/// would outlive the process that took them, and say that the child has the store open, which it can't use. So the child of a fork gets
/// `/dev/null` in place of these files, under the same numbers; their owners close them as usual.
///
/// Files are looked up by their numbers, in memory that is never moved: the child of a fork can't rely on more.
enum LockedFiles {
    /// The most numbers that a process can have by default (`fs.nr_open`); files with higher ones are left to the child.
    private static let numbersMax = 1 << 20

    @safe
    private struct Table: @unchecked Sendable {
        // Sound to share: the marks are only touched between lock and unlock, which a fork holds as well.
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        /// The kernel gives memory only to pages that have marks.
        let marks = unsafe calloc(numbersMax, 1).bindMemory(to: Bool.self, capacity: numbersMax)

        func withLock(_ body: (UnsafeMutablePointer<Bool>) -> Void) {
            unsafe pthread_mutex_lock(mutex)
            unsafe body(marks)
            unsafe pthread_mutex_unlock(mutex)
        }
    }

    private static let table: Table = {
        let table = Table()
        unsafe pthread_mutex_init(table.mutex, nil)
        pthread_atfork(
            { unsafe pthread_mutex_lock(LockedFiles.table.mutex) }, { unsafe pthread_mutex_unlock(LockedFiles.table.mutex) },
            { LockedFiles.leaveToParent() })
        return table
    }()

    /// Order: a file is added before the first lock on it is taken.
    static func add(_ descriptor: Int32) {
        guard descriptor < numbersMax else { return }
        unsafe table.withLock { unsafe $0[Int(descriptor)] = true }
    }

    /// Closes a file, whether it was added or not. A fork comes before or after.
    ///
    /// Its locks are released first: a process that another thread is just starting (`posix_spawn` runs no handlers) has the file too,
    /// until it runs its program, and would keep the locks.
    static func close(_ descriptor: Int32) {
        unsafe table.withLock { marks in
            if descriptor < numbersMax {
                if unsafe marks[Int(descriptor)] { File.giveUpLocks(descriptor) }
                unsafe marks[Int(descriptor)] = false
            }
            Glibc.close(descriptor)
        }
    }

    /// Runs in the child of a fork, whose only thread has the lock.
    private static func leaveToParent() {
        let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        var start = 0
        while nothing >= 0, let mark = unsafe memchr(table.marks + start, 1, numbersMax - start) {
            let number = unsafe mark - UnsafeMutableRawPointer(table.marks)
            unsafe table.marks[number] = false
            _ = dup2(nothing, Int32(number))
            _ = fcntl(Int32(number), F_SETFD, FD_CLOEXEC)
            start = number
        }
        if nothing >= 0 { Glibc.close(nothing) }
        unsafe pthread_mutex_unlock(table.mutex)
    }
}
