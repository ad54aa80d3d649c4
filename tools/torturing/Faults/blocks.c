// A disk as one file that writes down what is done to it: `blocks MOUNTPOINT IMAGE LOG` serves two files there, by the kernel's
// own protocol (linux/fuse.h), until it is unmounted:
//
// image  reads and writes go to IMAGE; a loop device on it is a disk, whose flushes arrive here as syncs of this file
// acks   what is written here was promised: it goes into the log, in its place among the writes
//
// A record, little-endian: u32 kind, u32 bytes, u64 offset, the bytes. Kinds: 1 write, 2 flush, 3 ack.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOT = FUSE_ROOT_ID, IMAGE, ACKS };
enum { WRITE = 1, FLUSH, ACK };

static int device, image, log_file;
static uint64_t acks;

static int note(uint32_t kind, uint64_t offset, const void *bytes, uint32_t count) {
    struct { uint32_t kind, bytes; uint64_t offset; } head = {kind, count, offset};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, count}};
    return writev(log_file, parts, 2) == (ssize_t)(sizeof head + count) ? 0 : -EIO;
}

static void answer(const struct fuse_in_header *in, int error, const void *bytes, size_t count) {
    struct fuse_out_header out = {(uint32_t)(sizeof out + count), error, in->unique};
    struct iovec parts[2] = {{&out, sizeof out}, {(void *)bytes, count}};
    // Whoever has asked may be gone.
    if (writev(device, parts, 2) < 0 && errno != ENOENT) perror("blocks: an answer");
}

static struct fuse_attr attributes(uint64_t node) {
    struct stat status = {0};
    fstat(image, &status);
    struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = 4096};
    attr.mode = node == ROOT ? S_IFDIR | 0700 : S_IFREG | 0600;
    attr.size = node == IMAGE ? (uint64_t)status.st_size : node == ACKS ? acks : 0;
    attr.blocks = attr.size / 512;
    return attr;
}

static void look_up(const struct fuse_in_header *in, const char *name) {
    uint64_t node = !strcmp(name, "image") ? IMAGE : !strcmp(name, "acks") ? ACKS : 0;
    if (in->nodeid != ROOT || !node) return answer(in, -ENOENT, NULL, 0);
    struct fuse_entry_out out = {.nodeid = node, .entry_valid = 3600, .attr = attributes(node)};
    answer(in, 0, &out, sizeof out);
}

static void put(const struct fuse_in_header *in, const struct fuse_write_in *what, const char *bytes) {
    int error = 0;
    if (in->nodeid == ACKS) {
        error = note(ACK, what->offset, bytes, what->size);
        if (what->offset + what->size > acks) acks = what->offset + what->size;
    } else if (pwrite(image, bytes, what->size, (off_t)what->offset) != (ssize_t)what->size) {
        error = -errno;
    } else {
        error = note(WRITE, what->offset, bytes, what->size);
    }
    struct fuse_write_out out = {.size = what->size};
    answer(in, error, error ? NULL : &out, error ? 0 : sizeof out);
}

static void get(const struct fuse_in_header *in, const struct fuse_read_in *what) {
    static char bytes[1 << 20];
    ssize_t count = in->nodeid == IMAGE ? pread(image, bytes, what->size < sizeof bytes ? what->size : sizeof bytes, (off_t)what->offset) : 0;
    answer(in, count < 0 ? -errno : 0, bytes, count < 0 ? 0 : (size_t)count);
}

static void serve(const struct fuse_in_header *in, const void *body) {
    switch (in->opcode) {
    case FUSE_INIT: {
        const struct fuse_init_in *asked = body;
        // No cache that writes later: what is written arrives here before the write returns, in its order.
        struct fuse_init_out out = {
            .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_readahead = asked->max_readahead,
            .flags = asked->flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES), .max_write = 1 << 18, .max_pages = 64, .max_background = 16,
            .congestion_threshold = 12, .time_gran = 1};
        return answer(in, 0, &out, sizeof out);
    }
    case FUSE_LOOKUP: return look_up(in, body);
    case FUSE_GETATTR:
    case FUSE_SETATTR: {
        struct fuse_attr_out out = {.attr_valid = in->nodeid == ACKS ? 0 : 3600, .attr = attributes(in->nodeid)};
        return answer(in, 0, &out, sizeof out);
    }
    case FUSE_OPEN: {
        struct fuse_open_out out = {.open_flags = in->nodeid == ACKS ? FOPEN_DIRECT_IO : 0};
        return answer(in, 0, &out, sizeof out);
    }
    case FUSE_READ: return get(in, body);
    case FUSE_WRITE: return put(in, body, (const char *)body + sizeof(struct fuse_write_in));
    case FUSE_FSYNC: return answer(in, in->nodeid == IMAGE ? note(FLUSH, 0, NULL, 0) : 0, NULL, 0);
    case FUSE_FLUSH:
    case FUSE_RELEASE: return answer(in, 0, NULL, 0);
    case FUSE_STATFS: {
        struct fuse_statfs_out out = {.st = {.blocks = 1 << 20, .bfree = 1 << 20, .bavail = 1 << 20, .bsize = 4096, .namelen = 255}};
        return answer(in, 0, &out, sizeof out);
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    default: return answer(in, -ENOSYS, NULL, 0);
    }
}

int main(int count, char **words) {
    if (count != 4) return 64;
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    image = open(words[2], O_RDWR | O_CLOEXEC);
    log_file = open(words[3], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    char options[96];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (device < 0 || image < 0 || log_file < 0 || mount("evstore-blocks", words[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
        perror("blocks");
        return 1;
    }
    static char request[(1 << 18) + (1 << 16)] __attribute__((aligned(8)));
    while (1) {
        ssize_t size = read(device, request, sizeof request);
        if (size < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) continue;
        if (size < (ssize_t)sizeof(struct fuse_in_header)) return errno == ENODEV ? 0 : 1;
        serve((const struct fuse_in_header *)request, request + sizeof(struct fuse_in_header));
    }
}
