public import Glibc

/// State under a lock, with a condition that threads can wait for. All rooms use it: the thread sanitizer does not understand the standard
/// library's `Mutex`.
///
/// The class is public so that the compiler specializes its methods for each state and body, where they are called: for a generic type of
/// the package's own it does not (6.3.1).
///
/// The optimizer may end an object after its last use, before the end of a method of its own. So each method of a class whose `deinit`
/// frees or closes something keeps the object alive to its own end, here and elsewhere (`withExtendedLifetime(self)`).
@safe
public final class Monitor<State>: @unchecked Sendable {
    // Sound to share: the state is only touched between lock and unlock. It lies behind a pointer, since Swift checks each access to a
    // property of a class for exclusivity at run time, which costs more than the lock.
    @usableFromInline let parts = UnsafeMutablePointer<Parts>.allocate(capacity: 1)

    /// In one allocation, so that the processor fetches all of it together.
    @usableFromInline
    @safe
    struct Parts {
        @usableFromInline var mutex = unsafe pthread_mutex_t()
        @usableFromInline var condition = pthread_cond_t()
        @usableFromInline var state: State

        init(_ state: State) { self.state = state }
    }

    package init(_ state: sending State) {
        unsafe parts.initialize(to: Parts(state))
        unsafe pthread_mutex_init(&parts.pointee.mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(&parts.pointee.condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(&parts.pointee.condition)
        unsafe pthread_mutex_destroy(&parts.pointee.mutex)
        unsafe parts.deinitialize(count: 1)
        unsafe parts.deallocate()
    }

    @inlinable
    package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(&parts.pointee.mutex)
        defer { unsafe pthread_mutex_unlock(&parts.pointee.mutex) }
        return try unsafe body(&parts.pointee.state)
    }

    /// Runs `body` on the state and wakes all waiting threads.
    @inlinable
    package func change<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(&parts.pointee.mutex)
        defer {
            // Order: waiters are woken after the unlock, since each takes the lock first.
            unsafe pthread_mutex_unlock(&parts.pointee.mutex)
            unsafe pthread_cond_broadcast(&parts.pointee.condition)
        }
        return try unsafe body(&parts.pointee.state)
    }

    /// Wakes all waiting threads, after a change under `withLock`.
    package func wake() { withExtendedLifetime(self) { _ = unsafe pthread_cond_broadcast(&parts.pointee.condition) } }

    /// Waits until `ready` returns true, then runs `body` without giving the lock back in between.
    @inlinable
    package func wait<R, E: Error>(until ready: (inout State) -> Bool, _ body: (inout State) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        unsafe pthread_mutex_lock(&parts.pointee.mutex)
        defer { unsafe pthread_mutex_unlock(&parts.pointee.mutex) }
        while unsafe !ready(&parts.pointee.state) { unsafe pthread_cond_wait(&parts.pointee.condition, &parts.pointee.mutex) }
        return try unsafe body(&parts.pointee.state)
    }

    /// Waits until `ready` returns true or the time has passed; returns whether it was ready.
    package func wait(milliseconds: Int, until ready: (inout State) -> Bool) -> Bool {
        wait(microseconds: min(milliseconds, Int.max / 1_000) * 1_000, until: ready)
    }

    /// Waits like `wait(milliseconds:until:)`. How late it ends depends on the thread's timers (`WorkerThread.useExactTimers`).
    package func wait(microseconds: Int, until ready: (inout State) -> Bool) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + (microseconds % 1_000_000) * 1_000
        end.tv_sec += microseconds / 1_000_000 + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        unsafe pthread_mutex_lock(&parts.pointee.mutex)
        defer { unsafe pthread_mutex_unlock(&parts.pointee.mutex) }
        while unsafe !ready(&parts.pointee.state) {
            let code = unsafe pthread_cond_timedwait(&parts.pointee.condition, &parts.pointee.mutex, &end)
            if code == ETIMEDOUT { return unsafe ready(&parts.pointee.state) }
        }
        return true
    }
}
