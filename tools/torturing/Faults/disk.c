// A disk that writes down what is done to it, and fails or stops the process when it is told to. Preloaded into a process
// of the tests; it sees every call of the C library that changes something below DISK_ROOT.
//
// DISK_LOG    the calls that succeeded go to this file, in order; what is written to a file named "acks" goes along, so that it is
//             known what had been promised when
// DISK_CALLS  a file of 16 bytes: how many calls there have been, and whether the fault was reached
// DISK_AT     the number of the call, from 1, that DISK_DOES happens to:
//             kill, stop (SIGSTOP, and then it is done), tear (half of the write, then kill), sectors (of that the sectors that are whole, then kill), fail, failing
//             (from there on), late (it is done, and said to have failed), short (half of the write), alter (another first byte
//             is written, and nothing is said), stall (it is held up for DISK_STALL milliseconds, while others go on)
// DISK_ERRNO  what a failing call says
// DISK_CALL   only these calls are counted: write, sync or name (default: all)
// DISK_FILE   only calls on files whose path ends like this are counted
// DISK_SLOW   how many milliseconds a slow sync takes, while others go on
// DISK_EVERY  which syncs are slow: every so many
// DISK_LIES   where it is set, a sync is said to be done and nothing is durable: a control, which every test of durability must fail
//
// Processes that have one DISK_LOG write it in one order, which is that of their calls: each call and its record are made under
// a lock that goes with its process.
//
// A record, little-endian: u32 kind, u32 bytes, u64 inode, u64 offset, u32 path bytes, u32 other path bytes, the paths
// (below DISK_ROOT), the bytes. Kinds: 1 write, 2 write that is durable when it returns, 3 sync, 4 rename, 5 size, 6 ack,
// 7 new file, 8 new directory, 9 name removed, 10 slow sync begun, 11 sync failed, 12 slow write is durable, 13 second name. A slow call
// has a number, which stands for the offset, or as the other path of a write; else 0, and none.
//
// What a process has stored in a page that it maps shared and may write, but for LMDB's, is written down as a write, before the next call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, DURABLE, SYNC, RENAME, SIZE, ACK, CREATE, MKDIR, REMOVE, BEGUN, FAILED, LASTING, LINK };
enum fault { NONE, FAIL, LATE, SHORT, TEAR, SECTORS, ALTER };

static pthread_mutex_t order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int log_file = -1;
static atomic_long own_calls[2];
static atomic_long *calls = own_calls;

static struct {
    const char *root, *log, *does, *call, *file;
    long at, slow, every, stall;
    int error, lies;
    pid_t process;
} disk;

static atomic_long syncs;

__attribute__((constructor)) static void begin(void) {
    disk.process = getpid();
    disk.root = getenv("DISK_ROOT");
    disk.log = getenv("DISK_LOG");
    disk.does = getenv("DISK_DOES");
    disk.call = getenv("DISK_CALL");
    disk.file = getenv("DISK_FILE");
    disk.lies = getenv("DISK_LIES") != NULL;
    disk.slow = getenv("DISK_SLOW") ? atol(getenv("DISK_SLOW")) : 0;
    disk.stall = getenv("DISK_STALL") ? atol(getenv("DISK_STALL")) : 0;
    disk.every = getenv("DISK_EVERY") ? atol(getenv("DISK_EVERY")) : 1;
    disk.at = getenv("DISK_AT") ? atol(getenv("DISK_AT")) : 0;
    disk.error = getenv("DISK_ERRNO") ? atoi(getenv("DISK_ERRNO")) : EIO;
    const char *name = getenv("DISK_CALLS");
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0) : -1;
    if (fd < 0) return;
    void *map = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) calls = map;
    close(fd);
}

static void in_order(void) {
    pthread_mutex_lock(&order);
    if (!disk.log) return;
    if (log_file < 0) log_file = (int)syscall(SYS_openat, AT_FDCWD, disk.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (flock(log_file, LOCK_EX) != 0)
        if (errno != EINTR) abort();
}

static void out_of_order(void) {
    int failure = errno;
    if (disk.log) flock(log_file, LOCK_UN);
    pthread_mutex_unlock(&order);
    errno = failure;
}

// A process that ends keeps the lock: its other threads begin no call any more, and none is cut off in the middle of its record.
// A child that was forked may have the lock of a thread that it has not.
__attribute__((destructor)) static void end(void) {
    if (disk.log && getpid() == disk.process) pthread_mutex_lock(&order);
}
__attribute__((noreturn)) void _exit(int code) {
    end();
    while (1) syscall(SYS_exit_group, code);
}

// The number of a sync that is slow, else 0.
static uint64_t slow(void) {
    long number = atomic_fetch_add(&syncs, 1) + 1;
    return disk.slow && number % disk.every == 0 ? (uint64_t)getpid() << 32 | (uint64_t)number : 0;
}

static void dawdle(long milliseconds) {
    out_of_order();
    usleep((useconds_t)milliseconds * 1000);
    in_order();
}

static const char *below_root(const char *path) {
    size_t size = disk.root ? strlen(disk.root) : 0;
    // The root itself counts: its sync makes the names in it durable.
    return size && !strncmp(path, disk.root, size) && (path[size] == '/' || !path[size]) ? path + size : NULL;
}

static const char *path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, PATH_MAX - 1);
    if (count < 0) return NULL;
    path[count] = 0;
    return below_root(path);
}

// The name as a path; one that is meant below an open directory is put together in `path`.
static const char *whole_name(int place, const char *name, char path[PATH_MAX]) {
    if (place == AT_FDCWD || name[0] == '/') return name;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    ssize_t count = readlink(link, path, PATH_MAX - 1);
    if (count < 0 || snprintf(path + count, (size_t)(PATH_MAX - count), "/%s", name) >= PATH_MAX - count) return name;
    return path;
}

static int is_acks(const char *path) {
    size_t size = strlen(path);
    return size >= 5 && !strcmp(path + size - 5, "/acks");
}

// What becomes of this call. Promises are never disturbed: they are not on the disk that fails.
static enum fault step(const char *call, const char *path) {
    if (is_acks(path) || (disk.call && strcmp(disk.call, call))) return NONE;
    size_t size = strlen(path), tail = disk.file ? strlen(disk.file) : 0;
    if (tail && (size < tail || memcmp(path + size - tail, disk.file, tail))) return NONE;
    long number = atomic_fetch_add(&calls[0], 1) + 1;
    if (!disk.at || !disk.does || number < disk.at || (number > disk.at && strcmp(disk.does, "failing"))) return NONE;
    atomic_store(&calls[1], 1);
    int is_write = !strcmp(call, "write");
    if (!strcmp(disk.does, "short")) return is_write ? SHORT : NONE;
    if (!strcmp(disk.does, "tear") && is_write) return TEAR;
    if (!strcmp(disk.does, "sectors") && is_write) return SECTORS;
    if (!strcmp(disk.does, "alter")) return is_write ? ALTER : NONE;
    if (!strcmp(disk.does, "late")) return LATE;
    if (!strcmp(disk.does, "stall")) {
        dawdle(disk.stall);
        return NONE;
    }
    if (!strcmp(disk.does, "stop")) {
        raise(SIGSTOP);
        return NONE;
    }
    if (strcmp(disk.does, "fail") && strcmp(disk.does, "failing")) raise(SIGKILL);
    errno = disk.error;
    return FAIL;
}

static void put(const void *bytes, size_t count) {
    while (count > 0) {
        long put = syscall(SYS_write, log_file, bytes, count);
        if (put <= 0) abort();
        bytes = (const char *)bytes + put;
        count -= put;
    }
}

static void record(uint32_t kind, uint64_t inode, uint64_t offset, const char *path, const char *other, const struct iovec *parts,
                   int count, uint32_t bytes) {
    if (!disk.log) return;
    int failure = errno;
    struct { uint32_t kind, bytes; uint64_t inode, offset; uint32_t path, other; } head = {
        kind, bytes, inode, offset, (uint32_t)strlen(path), (uint32_t)(other ? strlen(other) : 0)};
    put(&head, sizeof head);
    put(path, head.path);
    if (other) put(other, head.other);
    for (int i = 0; i < count && bytes > 0; i++) {
        uint32_t part = parts[i].iov_len < bytes ? (uint32_t)parts[i].iov_len : bytes;
        put(parts[i].iov_base, part);
        bytes -= part;
    }
    errno = failure;
}

// The pages that are mapped, each with what was written down of it.
enum { PAGE = 4096, PAGES_MAX = 16 };
static struct {
    char *start, path[PATH_MAX], seen[PAGE];
    uint64_t inode;
} pages[PAGES_MAX];

static void note_page(int i) {
    if (!pages[i].start) return;
    char now[PAGE];
    memcpy(now, pages[i].start, PAGE);
    if (!memcmp(now, pages[i].seen, PAGE)) return;
    memcpy(pages[i].seen, now, PAGE);
    struct iovec whole = {now, PAGE};
    record(WRITE, pages[i].inode, 0, pages[i].path, NULL, &whole, 1, PAGE);
}

static void note(uint32_t kind, uint64_t inode, uint64_t offset, const char *path, const char *other, const struct iovec *parts,
                 int count, uint32_t bytes) {
    for (int i = 0; i < PAGES_MAX; i++) note_page(i);
    record(kind, inode, offset, path, other, parts, count, bytes);
}

static uint64_t inode_of(int fd) {
    struct stat status = {0};
    fstat(fd, &status);
    return status.st_ino;
}

static uint64_t inode_at(const char *path) {
    struct stat status = {0};
    return lstat(path, &status) ? 0 : status.st_ino;
}

static ssize_t move(int fd, const struct iovec *parts, int count, off_t offset, int at_place) {
    return at_place ? syscall(SYS_pwritev, fd, parts, count, offset, 0) : syscall(SYS_writev, fd, parts, count);
}

// How much of a write ends where a sector of its file does.
static size_t in_sectors(off_t start, size_t bytes) {
    off_t end = (start + (off_t)bytes) / 512 * 512;
    return end > start ? (size_t)(end - start) : 0;
}

static ssize_t written(int fd, const struct iovec *parts, int count, off_t offset, int at_place) {
    char buffer[PATH_MAX];
    const char *path = path_of(fd, buffer);
    if (!path) return move(fd, parts, count, offset, at_place);
    in_order();
    enum fault fault = step("write", path);
    ssize_t done = -1;
    if (fault != FAIL) {
        off_t start = at_place ? offset : lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        // Half of it is half of the first part: the others follow in another call, which nobody makes.
        struct iovec half = {count ? parts[0].iov_base : NULL, count ? parts[0].iov_len / 2 : 0};
        // What lies in one sector is copied as a whole, whatever ends the process.
        if (fault == SECTORS) half.iov_len = in_sectors(start, half.iov_len);
        if (fault == SECTORS && half.iov_len == 0) raise(SIGKILL);
        int is_half = (fault == SHORT || fault == TEAR || fault == SECTORS) && half.iov_len > 0;
        done = is_half ? move(fd, &half, 1, offset, at_place) : move(fd, parts, count, offset, at_place);
        if (fault == ALTER && done > 0) {
            unsigned char other = *(const unsigned char *)parts[0].iov_base ^ 1;
            syscall(SYS_pwrite64, fd, &other, 1, start);
        }
        if (fault == TEAR || fault == SECTORS) raise(SIGKILL);
        uint32_t kind = is_acks(path) ? ACK : fcntl(fd, F_GETFL) & O_DSYNC && !disk.lies ? DURABLE : WRITE;
        uint64_t number = done > 0 && kind == DURABLE ? slow() : 0;
        char other[32] = "";
        if (number) snprintf(other, sizeof other, "%llu", (unsigned long long)number);
        if (done > 0)
            note(number ? WRITE : kind, inode_of(fd), start, path, number ? other : NULL, is_half ? &half : parts, is_half ? 1 : count,
                 (uint32_t)done);
        if (number) {
            dawdle(disk.slow);
            note(LASTING, inode_of(fd), number, path, NULL, NULL, 0, 0);
        }
    }
    if (fault == LATE) errno = disk.error;
    out_of_order();
    return fault == LATE ? -1 : done;
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
    in_order();
    enum fault fault = step("sync", path);
    uint64_t number = slow();
    if (number) {
        note(BEGUN, inode_of(fd), number, path, NULL, NULL, 0, 0);
        dawdle(disk.slow);
    }
    if (fault == FAIL) errno = disk.error;
    int code = fault == FAIL ? -1 : disk.lies ? 0 : (int)syscall(call, fd);
    if (!disk.lies) note(code == 0 ? SYNC : FAILED, inode_of(fd), number, path, NULL, NULL, 0, 0);
    if (fault == LATE) errno = disk.error;
    out_of_order();
    return fault == LATE ? -1 : code;
}

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
int fsync(int fd) { return synced(fd, SYS_fsync); }

static int renamed(int from_place, const char *from, int to_place, const char *to, unsigned flags) {
    char buffers[2][PATH_MAX];
    const char *whole = whole_name(from_place, from, buffers[0]);
    const char *path = below_root(whole), *other = below_root(whole_name(to_place, to, buffers[1]));
    if (!path || !other) return (int)syscall(SYS_renameat2, from_place, from, to_place, to, flags);
    in_order();
    uint64_t inode = inode_at(whole);
    int code = step("name", other) == FAIL ? -1 : (int)syscall(SYS_renameat2, from_place, from, to_place, to, flags);
    if (code == 0) note(RENAME, inode, 0, path, other, NULL, 0, 0);
    out_of_order();
    return code;
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_place, const char *from, int to_place, const char *to) { return renamed(from_place, from, to_place, to, 0); }
int renameat2(int from_place, const char *from, int to_place, const char *to, unsigned flags) {
    return renamed(from_place, from, to_place, to, flags);
}

int link(const char *from, const char *to) {
    const char *path = below_root(from), *other = below_root(to);
    if (!path || !other) return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    in_order();
    int code = step("name", other) == FAIL ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (code == 0) note(LINK, inode_at(to), 0, path, other, NULL, 0, 0);
    out_of_order();
    return code;
}

static int opened(int place, const char *given, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *name = flags & O_CREAT ? whole_name(place, given, buffer) : given;
    const char *path = flags & O_CREAT && (flags & O_TMPFILE) != O_TMPFILE ? below_root(name) : NULL;
    if (!path || is_acks(path)) return (int)syscall(SYS_openat, place, given, flags, mode);
    in_order();
    int is_new = inode_at(name) == 0;
    int fd = is_new && step("name", path) == FAIL ? -1 : (int)syscall(SYS_openat, place, name, flags, mode);
    if (fd >= 0 && is_new) note(CREATE, inode_of(fd), 0, path, NULL, NULL, 0, 0);
    out_of_order();
    return fd;
}

#define WITH_MODE(call)                                                   \
    mode_t mode = 0;                                                      \
    if (flags & (O_CREAT | O_TMPFILE)) {                                  \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        mode = va_arg(rest, mode_t);                                      \
        va_end(rest);                                                     \
    }                                                                     \
    return call

int open(const char *name, int flags, ...) { WITH_MODE(opened(AT_FDCWD, name, flags, mode)); }
int open64(const char *name, int flags, ...) { WITH_MODE(opened(AT_FDCWD, name, flags, mode)); }
int openat(int place, const char *name, int flags, ...) { WITH_MODE(opened(place, name, flags, mode)); }
int openat64(int place, const char *name, int flags, ...) { WITH_MODE(opened(place, name, flags, mode)); }

static int named(uint32_t kind, int place, const char *given, mode_t mode, int flags) {
    char buffer[PATH_MAX];
    const char *name = whole_name(place, given, buffer), *path = below_root(name);
    in_order();
    // A name that is not there can't be removed; trying it changes nothing.
    int counts = path && (kind == MKDIR || inode_at(name) != 0);
    int code = counts && step("name", path) == FAIL ? -1
        : kind == MKDIR ? (int)syscall(SYS_mkdirat, place, given, mode) : (int)syscall(SYS_unlinkat, place, given, flags);
    if (code == 0 && counts) note(kind, kind == MKDIR ? inode_at(name) : 0, 0, path, NULL, NULL, 0, 0);
    out_of_order();
    return code;
}

int mkdir(const char *name, mode_t mode) { return named(MKDIR, AT_FDCWD, name, mode, 0); }
int mkdirat(int place, const char *name, mode_t mode) { return named(MKDIR, place, name, mode, 0); }
int unlink(const char *name) { return named(REMOVE, AT_FDCWD, name, 0, 0); }
int unlinkat(int place, const char *name, int flags) { return named(REMOVE, place, name, 0, flags); }
int rmdir(const char *name) { return named(REMOVE, AT_FDCWD, name, 0, AT_REMOVEDIR); }

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

// Room that is given or taken. An error of posix_fallocate is what it returns.
#define SIZED(fd, size, returns_error, call)                              \
    char buffer[PATH_MAX];                                                \
    const char *path = path_of(fd, buffer);                               \
    if (!path) return call;                                               \
    in_order();                                                           \
    int fails = step("size", path) == FAIL;                               \
    int code = fails ? (returns_error ? errno : -1) : call;               \
    if (code == 0) note(SIZE, inode_of(fd), (uint64_t)(size), path, returns_error ? "+" : NULL, NULL, 0, 0); \
    out_of_order();                                                       \
    return code

int ftruncate(int fd, off_t size) { SIZED(fd, size, 0, REAL(int, ftruncate, int, off_t)(fd, size)); }
int ftruncate64(int fd, off64_t size) { SIZED(fd, size, 0, REAL(int, ftruncate64, int, off64_t)(fd, size)); }
int posix_fallocate(int fd, off_t start, off_t size) {
    SIZED(fd, start + size, 1, REAL(int, posix_fallocate, int, off_t, off_t)(fd, start, size));
}
int posix_fallocate64(int fd, off64_t start, off64_t size) {
    SIZED(fd, start + size, 1, REAL(int, posix_fallocate64, int, off64_t, off64_t)(fd, start, size));
}

static int is_lmdb(const char *path) {
    size_t size = strlen(path);
    return size >= 4 && !strcmp(path + size - 4, ".mdb");
}

static void *mapped(void *start, size_t bytes, int protection, int flags, int fd, off_t offset) {
    void *map = (void *)syscall(SYS_mmap, start, bytes, protection, flags, fd, offset);
    char buffer[PATH_MAX];
    int is_shared = fd >= 0 && (flags & MAP_TYPE) != MAP_PRIVATE && protection & PROT_WRITE;
    const char *path = map != MAP_FAILED && is_shared && bytes == PAGE && offset == 0 ? path_of(fd, buffer) : NULL;
    if (!path || is_lmdb(path)) return map;
    in_order();
    int i = 0;
    while (i < PAGES_MAX && pages[i].start) i++;
    // One that there is no room for would be missing from the states without a word.
    if (i == PAGES_MAX) abort();
    pages[i].start = map;
    pages[i].inode = inode_of(fd);
    strcpy(pages[i].path, path);
    memcpy(pages[i].seen, map, PAGE);
    out_of_order();
    return map;
}

void *mmap(void *start, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return mapped(start, bytes, protection, flags, fd, offset);
}
void *mmap64(void *start, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    return mapped(start, bytes, protection, flags, fd, offset);
}

int munmap(void *start, size_t bytes) {
    int is_page = bytes == PAGE && start;
    for (int i = 0; is_page && i < PAGES_MAX; i++) {
        if (pages[i].start != start) continue;
        in_order();
        note_page(i);
        pages[i].start = NULL;
        out_of_order();
    }
    return (int)syscall(SYS_munmap, start, bytes);
}
