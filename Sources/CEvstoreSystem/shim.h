#pragma once
// Not in the module of the C library.
#include <sys/vfs.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/// memfd_create(2), which the C library hides behind a feature macro; the file is closed at an exec.
static inline int evstore_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC); }

