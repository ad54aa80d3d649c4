// The limit of reading: about 120 events a block, a header and an XXH3 checksum each, as values of LMDB.
//
// usage: blocks fill --store DIR --frames FILE [--events N]       unsynced: only the scan is measured
//        blocks scan --store DIR [--times N]
//
// Block: u32 count, u32 bytes, u64 first position, u64 checksum of what follows. Record: u64 stream, u64 size, payload.
#include "common.h"
#include <lmdb.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_BYTES = 8 * 4096 - 16, HEADER_BYTES = 24, RECORD_BYTES = 16 };

static void check(int code) {
    if (code != 0) { fprintf(stderr, "lmdb: %s\n", mdb_strerror(code)); exit(1); }
}

static void put(MDB_txn *transaction, MDB_dbi table, char *block, size_t size, uint32_t count, uint64_t first) {
    uint32_t counts[2] = {count, (uint32_t)size};
    uint64_t sum = XXH3_64bits(block + HEADER_BYTES, size - HEADER_BYTES);
    memcpy(block, counts, 8);
    memcpy(block + 8, &first, 8);
    memcpy(block + 16, &sum, 8);
    MDB_val key = {8, &first}, value = {size, block};
    check(mdb_put(transaction, table, &key, &value, MDB_APPEND));
}

static void fill(MDB_env *environment, MDB_dbi table, const events *all) {
    static char block[BLOCK_BYTES];
    MDB_txn *transaction;
    check(mdb_txn_begin(environment, NULL, 0, &transaction));
    size_t size = HEADER_BYTES;
    uint32_t count = 0;
    for (uint64_t i = 0; i < all->count; i++) {
        const event *e = &all->all[i];
        if (size + RECORD_BYTES + e->size > BLOCK_BYTES) {
            put(transaction, table, block, size, count, i - count + 1);
            size = HEADER_BYTES;
            count = 0;
        }
        uint64_t header[2] = {e->stream, e->size};
        memcpy(block + size, header, RECORD_BYTES);
        memcpy(block + size + RECORD_BYTES, e->payload, e->size);
        size += RECORD_BYTES + e->size;
        count++;
    }
    if (count > 0) put(transaction, table, block, size, count, all->count - count + 1);
    check(mdb_txn_commit(transaction));
}

static double scan(MDB_env *environment, MDB_dbi table, uint64_t *count, uint64_t *bytes) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    MDB_val key, value;
    *count = *bytes = 0;
    check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction));
    check(mdb_cursor_open(transaction, table, &cursor));
    double begin = now();
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        const char *block = value.mv_data;
        uint32_t counts[2];
        uint64_t sum;
        memcpy(counts, block, 8);
        memcpy(&sum, block + 16, 8);
        if (XXH3_64bits(block + HEADER_BYTES, counts[1] - HEADER_BYTES) != sum) die("a block's checksum");
        const char *at = block + HEADER_BYTES;
        for (uint32_t i = 0; i < counts[0]; i++) {
            uint64_t header[2];
            memcpy(header, at, RECORD_BYTES);
            *bytes += header[1];
            at += RECORD_BYTES + header[1];
        }
        *count += counts[0];
    }
    double seconds = now() - begin;
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return seconds;
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    const char *path = text(&w, "store", "");
    int fills = strcmp(argv[1], "fill") == 0;
    MDB_env *environment;
    MDB_dbi table;
    MDB_txn *transaction;
    if (fills && mkdir(path, 0700) != 0) die("making the store");
    check(mdb_env_create(&environment));
    check(mdb_env_set_mapsize(environment, (size_t)1 << 36));
    check(mdb_env_open(environment, path, fills ? MDB_NOSYNC : MDB_RDONLY, 0600));
    check(mdb_txn_begin(environment, NULL, fills ? 0 : MDB_RDONLY, &transaction));
    check(mdb_dbi_open(transaction, NULL, fills ? MDB_INTEGERKEY : 0, &table));
    check(mdb_txn_commit(transaction));
    uint64_t count = 0, bytes = 0;
    double best = 0;
    if (fills) {
        events all = read_events(&w);
        fill(environment, table, &all);
        count = all.count;
    } else {
        for (uint64_t i = number(&w, "times", 3); i > 0; i--) {
            double seconds = scan(environment, table, &count, &bytes);
            if (best == 0 || seconds < best) best = seconds;
        }
    }
    printf("{\"events\":%lu,\"bytes\":%lu,\"seconds\":%.6f}\n", (unsigned long)count, (unsigned long)bytes, best);
    mdb_env_close(environment);
    return 0;
}
