#pragma once
// Not in the module of the C library.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// pipe2(2), which the C library hides behind a feature macro; no program inherits either end.
static inline int test_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }

/// accept4(2), which the C library hides behind a feature macro; no program inherits the connection.
static inline int test_accept(int listener) { return (int)syscall(SYS_accept4, listener, 0, 0, O_CLOEXEC); }
