// What the drivers of the peers share: words of the command line, the events, clocks, and group commit.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static inline void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// --- `WORK --name value …`

typedef struct { int count; char **values; } words;

static inline words read_words(int count, char **values) { return (words){count, values}; }

static inline const char *text(const words *w, const char *name, const char *usual) {
    for (int i = 0; i + 1 < w->count; i++)
        if (strncmp(w->values[i], "--", 2) == 0 && strcmp(w->values[i] + 2, name) == 0) return w->values[i + 1];
    return usual;
}

static inline uint64_t number(const words *w, const char *name, uint64_t usual) {
    const char *value = text(w, name, NULL);
    return value ? strtoull(value, NULL, 10) : usual;
}

// --- events: frames of u32 stream, u32 size, payload

typedef struct { uint32_t stream, size; const char *payload; } event;
typedef struct { uint64_t count; event *all; } events;

static inline events read_events(const words *w) {
    const char *path = text(w, "frames", "");
    int file = open(path, O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about) < 0) die(path);
    const char *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (map == MAP_FAILED) die(path);
    uint64_t limit = number(w, "events", UINT64_MAX), room = 1 << 16;
    events result = {0, malloc(room * sizeof(event))};
    for (off_t at = 0; at + 8 <= about.st_size && result.count < limit; at += 8 + result.all[result.count - 1].size) {
        if (result.count == room) result.all = realloc(result.all, (room *= 2) * sizeof(event));
        event *e = &result.all[result.count++];
        memcpy(e, map + at, 8);
        e->payload = map + at + 8;
    }
    close(file);
    return result;
}

// The streams that are read by chance, in the same order in every driver.
static inline uint32_t next_stream(uint64_t *state, uint64_t streams) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % streams);
}

// Revisions are counted by the writer, as an application does that has read the stream.
static inline uint32_t *new_revisions(const events *all) {
    uint32_t most = 0;
    for (uint64_t i = 0; i < all->count; i++) if (all->all[i].stream > most) most = all->all[i].stream;
    return calloc(most + 1, sizeof(uint32_t));
}

// --- group commit: writers that each wait for their own event; one thread makes durable whatever waits

typedef void (*commit_function)(void *store, const event **batch, uint64_t count);

typedef struct {
    commit_function commit;
    void *store;
    const events *all;
    uint64_t writers, waiting, commits;
    const event **queue;
    sem_t **sleepers, *wake;
    double *latencies;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int ended;
} group;

typedef struct { group *g; uint64_t index; sem_t done; pthread_t thread; } writer;

static inline void *write_events(void *argument) {
    writer *w = argument;
    group *g = w->g;
    for (uint64_t i = w->index; i < g->all->count; i += g->writers) {
        double asked = now();
        pthread_mutex_lock(&g->lock);
        g->queue[g->waiting] = &g->all->all[i];
        g->sleepers[g->waiting++] = &w->done;
        if (g->waiting == 1) pthread_cond_signal(&g->filled);
        pthread_mutex_unlock(&g->lock);
        while (sem_wait(&w->done) != 0) {}
        g->latencies[i] = now() - asked;
    }
    return NULL;
}

static inline void *commit_events(void *argument) {
    group *g = argument;
    const event **batch = malloc(g->writers * sizeof *batch);
    sem_t **sleepers = malloc(g->writers * sizeof *sleepers);
    for (;;) {
        pthread_mutex_lock(&g->lock);
        while (g->waiting == 0 && !g->ended) pthread_cond_wait(&g->filled, &g->lock);
        uint64_t count = g->waiting;
        memcpy(batch, g->queue, count * sizeof *batch);
        memcpy(sleepers, g->sleepers, count * sizeof *sleepers);
        g->waiting = 0;
        pthread_mutex_unlock(&g->lock);
        if (count == 0) return NULL;
        g->commit(g->store, batch, count);
        g->commits++;
        for (uint64_t i = 0; i < count; i++) sem_post(sleepers[i]);
    }
}

static inline int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// One object: events, commits, seconds, and the latencies' middle, 99th of 100 and largest in microseconds.
static inline void say_appends(uint64_t count, uint64_t commits, double seconds, double *latencies, uint64_t appends) {
    qsort(latencies, appends, sizeof(double), compare_times);
    printf("{\"events\":%lu,\"commits\":%lu,\"seconds\":%.6f,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}\n", (unsigned long)count,
           (unsigned long)commits, seconds, latencies[appends / 2] * 1e6, latencies[appends * 99 / 100] * 1e6, latencies[appends - 1] * 1e6);
}

// One writer commits on its own thread: nothing is won by handing over.
static inline void append_singly(const words *w, const events *all, void *store, commit_function commit) {
    uint64_t writers = number(w, "writers", 1);
    group g = {.commit = commit, .store = store, .all = all, .writers = writers};
    g.latencies = calloc(all->count, sizeof(double));
    double begin = now();
    if (writers == 1) {
        for (uint64_t i = 0; i < all->count; i++) {
            const event *one = &all->all[i];
            double asked = now();
            commit(store, &one, 1);
            g.latencies[i] = now() - asked;
        }
        g.commits = all->count;
    } else {
        pthread_t committer;
        pthread_mutex_init(&g.lock, NULL);
        pthread_cond_init(&g.filled, NULL);
        g.queue = malloc(writers * sizeof *g.queue);
        g.sleepers = malloc(writers * sizeof *g.sleepers);
        writer *each = calloc(writers, sizeof(writer));
        pthread_create(&committer, NULL, commit_events, &g);
        for (uint64_t i = 0; i < writers; i++) {
            each[i] = (writer){.g = &g, .index = i};
            sem_init(&each[i].done, 0, 0);
            pthread_create(&each[i].thread, NULL, write_events, &each[i]);
        }
        for (uint64_t i = 0; i < writers; i++) pthread_join(each[i].thread, NULL);
        pthread_mutex_lock(&g.lock);
        g.ended = 1;
        pthread_cond_signal(&g.filled);
        pthread_mutex_unlock(&g.lock);
        pthread_join(committer, NULL);
    }
    say_appends(all->count, g.commits, now() - begin, g.latencies, all->count);
}

// One caller that appends many events at once.
static inline void append_together(const words *w, const events *all, void *store, commit_function commit) {
    uint64_t size = number(w, "batch", 10000), commits = 0;
    const event **batch = malloc(size * sizeof *batch);
    double *latencies = calloc(all->count / size + 1, sizeof(double)), begin = now();
    for (uint64_t start = 0; start < all->count; start += size) {
        uint64_t count = all->count - start < size ? all->count - start : size;
        for (uint64_t i = 0; i < count; i++) batch[i] = &all->all[start + i];
        double asked = now();
        commit(store, batch, count);
        latencies[commits++] = now() - asked;
    }
    say_appends(all->count, commits, now() - begin, latencies, commits);
}

static inline void say_rate(const char *what, uint64_t count, uint64_t of_events, double seconds) {
    printf("{\"%s\":%lu,\"events\":%lu,\"seconds\":%.6f}\n", what, (unsigned long)count, (unsigned long)of_events, seconds);
}

// --- reads by key, by one thread or several

typedef uint64_t (*look_up_function)(void *store, uint64_t thread, uint64_t count, uint64_t keys, pthread_barrier_t *ready);

typedef struct {
    look_up_function look_up;
    void *store;
    uint64_t thread, count, keys, found;
    pthread_barrier_t *ready;
} reader;

static inline void *read_rows_of(void *argument) {
    reader *r = argument;
    r->found = r->look_up(r->store, r->thread, r->count, r->keys, r->ready);
    return NULL;
}

// `--count` reads by each of `--threads`, which begin when all are ready.
static inline void look_up_together(const words *w, look_up_function look_up, void *store) {
    uint64_t threads = number(w, "threads", 1), count = number(w, "count", 1000), found = 0;
    pthread_barrier_t ready;
    pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
    reader *readers = calloc(threads, sizeof *readers);
    pthread_t *each = calloc(threads, sizeof *each);
    for (uint64_t i = 0; i < threads; i++) {
        readers[i] = (reader){look_up, store, i, count, number(w, "keys", 1), 0, &ready};
        pthread_create(&each[i], NULL, read_rows_of, &readers[i]);
    }
    pthread_barrier_wait(&ready);
    double begin = now();
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(each[i], NULL);
        found += readers[i].found;
    }
    printf("{\"reads\":%lu,\"rows\":%lu,\"seconds\":%.6f}\n", (unsigned long)(count * threads), (unsigned long)found, now() - begin);
}

// --- appends at a rate, of which others are told

static inline void wait_until(double moment) {
    struct timespec t = {.tv_sec = (time_t)moment, .tv_nsec = (long)((moment - (double)(time_t)moment) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {}
}

static inline void say_moments(const char *name, const double *moments, uint64_t count) {
    printf("\"%s\":[", name);
    for (uint64_t i = 0; i < count; i++) printf("%s%.0f", i ? "," : "", moments[i] * 1e9);
    printf("]");
}

static inline void say_positions(const long long *positions, uint64_t count) {
    printf("\"positions\":[");
    for (uint64_t i = 0; i < count; i++) printf("%s%lld", i ? "," : "", positions[i]);
    printf("]");
}
