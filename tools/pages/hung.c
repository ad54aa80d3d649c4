// A directory on a disk that hangs, as one of a server that is gone. Preloaded into a process: while there is a file HUNG_WHILE, each call
// that opens something in the directory HUNG does not return.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang(const char *path) {
    const char *directory = getenv("HUNG"), *flag = getenv("HUNG_WHILE");
    if (!directory || !flag || strncmp(path, directory, strlen(directory)) != 0) return;
    while (access(flag, F_OK) == 0) usleep(10000);
}

#define OPEN(name)                                                                            \
    int name(const char *path, int flags, ...) {                                              \
        va_list rest;                                                                         \
        va_start(rest, flags);                                                                \
        mode_t mode = va_arg(rest, mode_t);                                                   \
        va_end(rest);                                                                         \
        hang(path);                                                                           \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

DIR *opendir(const char *path) {
    hang(path);
    return ((DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir"))(path);
}
