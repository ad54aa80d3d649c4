// Makes one call fail: the FAULT_NTH call of FAULT_CALL (write or sync) on a file whose name ends in
// FAULT_FILE returns FAULT_ERRNO. Preloaded into a process of the tests.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int calls;

static int fails(const char *call, int fd) {
    const char *wanted = getenv("FAULT_CALL"), *file = getenv("FAULT_FILE");
    if (!wanted || !file || strcmp(wanted, call)) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    size_t tail = strlen(file);
    if (count < (ssize_t)tail || memcmp(path + count - tail, file, tail)) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atoi(getenv("FAULT_NTH"))) return 0;
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t)(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    return fails("write", fd) ? -1 : REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t)(fd, parts, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    return fails("write", fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    return fails("write", fd) ? -1 : REAL(ssize_t, writev, int, const struct iovec *, int)(fd, parts, count);
}

int fdatasync(int fd) { return fails("sync", fd) ? -1 : REAL(int, fdatasync, int)(fd); }

int fsync(int fd) { return fails("sync", fd) ? -1 : REAL(int, fsync, int)(fd); }
