#pragma once
// Not in the module of the C library.
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// memfd_create(2), which the C library hides behind a feature macro; the file is closed at an exec.
static inline int evstore_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC); }

/// futex(2) on a word that processes share: sleeps while it is `seen`, and so many nanoseconds at most. Whoever comes back looks again.
static inline void evstore_futex_wait(const uint32_t *word, uint32_t seen, long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}

/// Wakes all who sleep on the word.
static inline void evstore_futex_wake(const uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

/// Has timers of the calling thread end within a microsecond of their time, and not within the 50 that the kernel allows itself.
static inline void evstore_exact_timers(void) { prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); }
