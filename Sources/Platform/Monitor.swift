internal import Glibc

/// State under a lock that threads can wait on until it changes. All rooms use it: the thread sanitizer does not understand the
/// standard library's `Mutex`.
///
/// An object may end behind its last use, which the optimizer finds before the end of a method of its own. So each method of a class
/// whose `deinit` frees or closes something ends with itself, here and elsewhere (`withExtendedLifetime(self)`).
@safe
package final class Monitor<State>: @unchecked Sendable {
    // Sound to share: the state is only touched between lock and unlock. It lies behind a pointer, since each access to a property of a
    // class is looked after at run time, which costs more than the lock.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)

    package init(_ state: sending State) {
        unsafe self.state.initialize(to: state)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Runs `body` on the state; nobody else sees it meanwhile.
    package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&state.pointee)
    }

    /// Runs `body` on the state and wakes everyone who waits.
    package func change<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(mutex)
        defer {
            // Order: waiters are woken after the unlock, since each takes the lock first.
            unsafe pthread_mutex_unlock(mutex)
            unsafe pthread_cond_broadcast(condition)
        }
        return try unsafe body(&state.pointee)
    }

    /// Wakes everyone who waits, after a change under `withLock`.
    package func wake() { withExtendedLifetime(self) { _ = unsafe pthread_cond_broadcast(condition) } }

    /// Waits until `ready` says so, then runs `body` in the same hold of the lock.
    package func wait<R, E: Error>(until ready: (inout State) -> Bool, _ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while unsafe !ready(&state.pointee) { unsafe pthread_cond_wait(condition, mutex) }
        return try unsafe body(&state.pointee)
    }

    /// Waits until `ready` says so or the time has passed; says whether it was ready.
    package func wait(milliseconds: Int, until ready: (inout State) -> Bool) -> Bool {
        wait(microseconds: min(milliseconds, Int.max / 1_000) * 1_000, until: ready)
    }

    /// As `wait(milliseconds:until:)`; how much later it ends is the thread's `WorkerThread.useExactTimers`.
    package func wait(microseconds: Int, until ready: (inout State) -> Bool) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + (microseconds % 1_000_000) * 1_000
        end.tv_sec += microseconds / 1_000_000 + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while unsafe !ready(&state.pointee) {
            if unsafe pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return unsafe ready(&state.pointee) }
        }
        return true
    }
}
