// LMDB used directly: one entry an event in one table, the commit's own syncs, no index, no checksum, no streams.
//
// usage: rawlmdb append|bulk --store DIR --frames FILE --events N [--writers K | --batch B]
//        rawlmdb scan --store DIR [--times N]
#include "common.h"
#include <lmdb.h>

static void check(int code) {
    if (code != 0) { fprintf(stderr, "lmdb: %s\n", mdb_strerror(code)); exit(1); }
}

typedef struct { MDB_env *environment; MDB_dbi table; uint64_t position; } store;

static void commit(void *opaque, const event **batch, uint64_t count) {
    store *s = opaque;
    MDB_txn *transaction;
    check(mdb_txn_begin(s->environment, NULL, 0, &transaction));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t position = ++s->position;
        MDB_val key = {sizeof position, &position}, value = {16 + batch[i]->size, NULL};
        check(mdb_put(transaction, s->table, &key, &value, MDB_APPEND | MDB_RESERVE));
        uint64_t header[2] = {batch[i]->stream, batch[i]->size};
        memcpy(value.mv_data, header, sizeof header);
        memcpy((char *)value.mv_data + sizeof header, batch[i]->payload, batch[i]->size);
    }
    check(mdb_txn_commit(transaction));
}

static double scan(store *s, uint64_t *events, uint64_t *size) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t count = 0, bytes = 0;
    check(mdb_txn_begin(s->environment, NULL, MDB_RDONLY, &transaction));
    check(mdb_cursor_open(transaction, s->table, &cursor));
    double begin = now();
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        uint64_t header[2];
        memcpy(header, value.mv_data, sizeof header);
        bytes += header[1];
        count++;
    }
    double seconds = now() - begin;
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    *events = count;
    *size = bytes;
    return seconds;
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    const char *path = text(&w, "store", "");
    store s = {0};
    int writes = strcmp(argv[1], "scan") != 0;
    if (writes && mkdir(path, 0700) != 0) die("making the store");
    check(mdb_env_create(&s.environment));
    check(mdb_env_set_mapsize(s.environment, (size_t)1 << 36));
    check(mdb_env_open(s.environment, path, writes ? 0 : MDB_RDONLY, 0600));
    MDB_txn *transaction;
    check(mdb_txn_begin(s.environment, NULL, writes ? 0 : MDB_RDONLY, &transaction));
    check(mdb_dbi_open(transaction, NULL, writes ? MDB_INTEGERKEY : 0, &s.table));
    check(mdb_txn_commit(transaction));
    if (writes) {
        events all = read_events(&w);
        if (strcmp(argv[1], "append") == 0) append_singly(&w, &all, &s, commit);
        else append_together(&w, &all, &s, commit);
    } else {
        uint64_t count = 0, bytes = 0;
        double best = 0;
        for (uint64_t i = number(&w, "times", 3); i > 0; i--) {
            double seconds = scan(&s, &count, &bytes);
            if (best == 0 || seconds < best) best = seconds;
        }
        printf("{\"events\":%lu,\"bytes\":%lu,\"seconds\":%.6f}\n", (unsigned long)count, (unsigned long)bytes, best);
    }
    mdb_env_close(s.environment);
    return 0;
}
