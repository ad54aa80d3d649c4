// Writes down every write, sync and rename below RECORD_ROOT, in order, to RECORD_LOG; what is written to a file named
// "acks" goes along, so that it is known what had been promised when. Ends the process by SIGKILL before the call number
// KILL_AT, where that is set. Preloaded into a process of the tests.
//
// A record, little-endian: u32 kind, u32 bytes, u64 inode, u64 offset, u32 path bytes, u32 other path bytes, the paths
// (below RECORD_ROOT), the bytes. Kinds: 1 write, 2 write that is durable when it returns, 3 sync, 4 rename, 5 size, 6 ack.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, DURABLE = 2, SYNC = 3, RENAME = 4, SIZE = 5, ACK = 6 };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1, calls;

static const char *below_root(const char *path) {
    const char *root = getenv("RECORD_ROOT");
    size_t size = root ? strlen(root) : 0;
    return size && !strncmp(path, root, size) ? path + size : NULL;
}

static const char *path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, PATH_MAX - 1);
    if (count < 0) return NULL;
    path[count] = 0;
    return below_root(path);
}

static void step(void) {
    const char *end = getenv("KILL_AT");
    if (end && ++calls == atoi(end)) raise(SIGKILL);
}

static void put(const void *bytes, size_t count) {
    while (count > 0) {
        long put = syscall(SYS_write, log_file, bytes, count);
        if (put <= 0) abort();
        bytes = (const char *)bytes + put;
        count -= put;
    }
}

static void note(uint32_t kind, int fd, uint64_t offset, const char *path, const char *other, const struct iovec *parts, int count, uint32_t bytes) {
    const char *name = getenv("RECORD_LOG");
    if (!name) return;
    if (log_file < 0) log_file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat status = {0};
    if (fd >= 0) fstat(fd, &status);
    struct { uint32_t kind, bytes; uint64_t inode, offset; uint32_t path, other; } head = {
        kind, bytes, status.st_ino, offset, (uint32_t)strlen(path), (uint32_t)(other ? strlen(other) : 0)};
    put(&head, sizeof head);
    put(path, head.path);
    if (other) put(other, head.other);
    for (int i = 0; i < count && bytes > 0; i++) {
        uint32_t part = parts[i].iov_len < bytes ? (uint32_t)parts[i].iov_len : bytes;
        put(parts[i].iov_base, part);
        bytes -= part;
    }
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

static ssize_t written(int fd, const struct iovec *parts, int count, off_t offset, int at_place) {
    char buffer[PATH_MAX];
    const char *path = path_of(fd, buffer);
    if (!path) return at_place ? syscall(SYS_pwritev, fd, parts, count, offset, 0) : syscall(SYS_writev, fd, parts, count);
    pthread_mutex_lock(&order);
    step();
    off_t begin = at_place ? offset : lseek(fd, 0, SEEK_CUR);
    ssize_t put = at_place ? syscall(SYS_pwritev, fd, parts, count, offset, 0) : syscall(SYS_writev, fd, parts, count);
    int failure = errno;
    size_t size = strlen(path);
    int is_ack = size >= 5 && !strcmp(path + size - 5, "/acks");
    if (put > 0) note(is_ack ? ACK : fcntl(fd, F_GETFL) & O_DSYNC ? DURABLE : WRITE, fd, begin, path, NULL, parts, count, (uint32_t)put);
    pthread_mutex_unlock(&order);
    errno = failure;
    return put;
}

static ssize_t one(int fd, const void *bytes, size_t count, off_t offset, int at_place) {
    struct iovec part = {(void *)bytes, count};
    return written(fd, &part, 1, offset, at_place);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return one(fd, bytes, count, offset, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return one(fd, bytes, count, offset, 1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return written(fd, parts, count, offset, 1); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return written(fd, parts, count, offset, 1); }
ssize_t write(int fd, const void *bytes, size_t count) { return one(fd, bytes, count, 0, 0); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return written(fd, parts, count, 0, 0); }

static int synced(int fd, long call) {
    char buffer[PATH_MAX];
    const char *path = path_of(fd, buffer);
    if (!path) return (int)syscall(call, fd);
    pthread_mutex_lock(&order);
    step();
    int code = (int)syscall(call, fd);
    int failure = errno;
    if (code == 0) note(SYNC, fd, 0, path, NULL, NULL, 0, 0);
    pthread_mutex_unlock(&order);
    errno = failure;
    return code;
}

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
int fsync(int fd) { return synced(fd, SYS_fsync); }

int rename(const char *from, const char *to) {
    const char *path = below_root(from), *other = below_root(to);
    if (!path || !other) return (int)syscall(SYS_rename, from, to);
    pthread_mutex_lock(&order);
    step();
    int code = (int)syscall(SYS_rename, from, to);
    int failure = errno;
    int fd = code == 0 ? open(to, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        note(RENAME, fd, 0, path, other, NULL, 0, 0);
        close(fd);
    }
    pthread_mutex_unlock(&order);
    errno = failure;
    return code;
}

static int sized(int fd, off_t size, int code) {
    char buffer[PATH_MAX];
    const char *path = path_of(fd, buffer);
    if (path && code == 0) {
        pthread_mutex_lock(&order);
        note(SIZE, fd, size, path, NULL, NULL, 0, 0);
        pthread_mutex_unlock(&order);
    }
    return code;
}

int ftruncate(int fd, off_t size) { return sized(fd, size, REAL(int, ftruncate, int, off_t)(fd, size)); }
int ftruncate64(int fd, off64_t size) { return sized(fd, size, REAL(int, ftruncate64, int, off64_t)(fd, size)); }
int posix_fallocate(int fd, off_t start, off_t size) {
    return sized(fd, start + size, REAL(int, posix_fallocate, int, off_t, off_t)(fd, start, size));
}
int posix_fallocate64(int fd, off64_t start, off64_t size) {
    return sized(fd, start + size, REAL(int, posix_fallocate64, int, off64_t, off64_t)(fd, start, size));
}
