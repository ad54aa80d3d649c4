// A library of LMDB that is another one than the program was built with, preloaded into a process of the tests.
//
// LMDB_SAYS    the release that it says it is: three numbers, as 1 0 0
// LMDB_WRITES  the data format that stands in the meta pages of every file that it closes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *mdb_version(int *major, int *minor, int *patch) {
    const char *says = getenv("LMDB_SAYS");
    if (says && sscanf(says, "%d %d %d", major, minor, patch) == 3) return "LMDB of a test";
    char *(*own)(int *, int *, int *) = dlsym(RTLD_NEXT, "mdb_version");
    return own(major, minor, patch);
}

void mdb_env_close(void *environment) {
    void (*own)(void *) = dlsym(RTLD_NEXT, "mdb_env_close");
    int (*path_of)(void *, const char **) = dlsym(RTLD_NEXT, "mdb_env_get_path");
    const char *writes = getenv("LMDB_WRITES"), *directory = NULL;
    char path[4096] = "";
    if (writes && path_of(environment, &directory) == 0 && directory) snprintf(path, sizeof path, "%s/data.mdb", directory);
    own(environment);
    int file = *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    // Behind the page's header of 16 bytes: u32 magic, u32 format.
    for (int page = 0; page < 2; page++) {
        uint32_t format = (uint32_t)atoi(writes);
        if (pwrite(file, &format, sizeof format, page * 4096 + 20) != sizeof format) abort();
    }
    close(file);
}
