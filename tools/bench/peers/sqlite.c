// SQLite as an event store: the usual table, WAL, synchronous=FULL, prepared statements, a large cache.
//
// usage: sqlite append|each|bulk --store FILE --frames FILE --events N [--writers K | --batch B]
//        sqlite scan --store FILE [--times N]
//        sqlite streams --store FILE --count N --streams N
//        sqlite tail --store FILE --stream N --count N
//        sqlite replay|grouped|chain --store FILE
//        sqlite rows --store FILE --count N --keys N [--threads T]
//        sqlite index --store FILE
//        sqlite ranges --store FILE --count N --limit N
//        sqlite changes --store FILE --count N --keys N
//
// `append`: writers whose events share transactions; `each`: a transaction for every event.
// `replay` takes version 1 to 5 and folds by upserts, `grouped` by one GROUP BY; both read the members they need out of the
// stored text. `chain` makes the whole payload of versions 2, 3, 4 and 5 in turn. `rows` looks up rows that one of them has made;
// `index` orders them by their cents, `ranges` reads the first so many from some cents on, `changes` gives N rows other cents.
#include "common.h"
#include <sqlite3.h>

typedef struct {
    sqlite3 *base;
    sqlite3_stmt *begin, *insert, *commit;
    uint32_t *revisions;
    pthread_mutex_t lock;
} store;

static void fail(sqlite3 *base) { fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(base)); exit(1); }

static void run(sqlite3 *base, const char *sql) { if (sqlite3_exec(base, sql, NULL, NULL, NULL) != SQLITE_OK) fail(base); }

static sqlite3_stmt *prepare(sqlite3 *base, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(base, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(base);
    return statement;
}

static void step(sqlite3 *base, sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(base);
    sqlite3_reset(statement);
}

// Another process writes: it is done within a sync. SQLite's own waits begin with a thousand times as much as a turn takes.
static int ask_again(void *unused, int times) {
    (void)unused, (void)times;
    usleep(20);
    return 1;
}

static int name_stream(char *name, uint32_t stream) { return snprintf(name, 32, "order-%07u", stream); }

static void commit(void *opaque, const event **batch, uint64_t count) {
    store *s = opaque;
    char name[32];
    step(s->base, s->begin);
    for (uint64_t i = 0; i < count; i++) {
        const event *e = batch[i];
        sqlite3_bind_text(s->insert, 1, name, name_stream(name, e->stream), SQLITE_STATIC);
        sqlite3_bind_int64(s->insert, 2, s->revisions[e->stream]++);
        sqlite3_bind_text(s->insert, 3, e->payload, (int)e->size, SQLITE_STATIC);
        step(s->base, s->insert);
    }
    step(s->base, s->commit);
}

// Writers that know nothing of each other: each its own transaction, one after the other.
typedef struct { store *s; const events *all; uint64_t index, writers; double *latencies; } lone;

static void *write_alone(void *argument) {
    lone *w = argument;
    for (uint64_t i = w->index; i < w->all->count; i += w->writers) {
        const event *one = &w->all->all[i];
        double asked = now();
        pthread_mutex_lock(&w->s->lock);
        commit(w->s, &one, 1);
        pthread_mutex_unlock(&w->s->lock);
        w->latencies[i] = now() - asked;
    }
    return NULL;
}

static void append_each(const words *w, const events *all, store *s) {
    uint64_t writers = number(w, "writers", 1);
    pthread_t *threads = calloc(writers, sizeof *threads);
    lone *each = calloc(writers, sizeof *each);
    double *latencies = calloc(all->count, sizeof *latencies), begin = now();
    for (uint64_t i = 0; i < writers; i++) {
        each[i] = (lone){s, all, i, writers, latencies};
        pthread_create(&threads[i], NULL, write_alone, &each[i]);
    }
    for (uint64_t i = 0; i < writers; i++) pthread_join(threads[i], NULL);
    say_appends(all->count, all->count, now() - begin, latencies, all->count);
}

static void scan(sqlite3 *base, uint64_t times) {
    sqlite3_stmt *select = prepare(base, "SELECT position, payload FROM events ORDER BY position");
    double best = 0;
    uint64_t count = 0, bytes = 0;
    while (times-- > 0) {
        double begin = now();
        count = bytes = 0;
        while (sqlite3_step(select) == SQLITE_ROW) {
            count += sqlite3_column_int64(select, 0) > 0 && sqlite3_column_text(select, 1) != NULL;
            bytes += (uint64_t)sqlite3_column_bytes(select, 1);
        }
        sqlite3_reset(select);
        double seconds = now() - begin;
        if (best == 0 || seconds < best) best = seconds;
    }
    printf("{\"events\":%lu,\"bytes\":%lu,\"seconds\":%.6f}\n", (unsigned long)count, (unsigned long)bytes, best);
}

static uint64_t read_rows(sqlite3_stmt *select, uint32_t stream) {
    char name[32];
    uint64_t rows = 0;
    static volatile char kept;
    sqlite3_bind_text(select, 1, name, name_stream(name, stream), SQLITE_STATIC);
    while (sqlite3_step(select) == SQLITE_ROW) {
        kept = ((const char *)sqlite3_column_text(select, 3))[0];
        rows++;
    }
    sqlite3_reset(select);
    (void)kept;
    return rows;
}

static void read_streams(const words *w, sqlite3 *base) {
    sqlite3_stmt *select = prepare(base, "SELECT position, revision, time, payload FROM events WHERE stream = ? ORDER BY revision");
    uint64_t count = number(w, "count", 1000), streams = number(w, "streams", 1), state = 42, rows = 0;
    double begin = now();
    for (uint64_t i = 0; i < count; i++) rows += read_rows(select, next_stream(&state, streams));
    say_rate("reads", count, rows, now() - begin);
}

static void read_tail(const words *w, sqlite3 *base) {
    sqlite3_stmt *select =
        prepare(base, "SELECT position, revision, time, payload FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 10");
    uint64_t count = number(w, "count", 1000), rows = 0;
    double begin = now();
    for (uint64_t i = 0; i < count; i++) rows += read_rows(select, (uint32_t)number(w, "stream", 0));
    say_rate("reads", count, rows, now() - begin);
}

// A connection that finds the file locked for a moment waits: who opens a store first reads its log alone.
static sqlite3 *open_base(const char *path, int flags) {
    sqlite3 *base;
    if (sqlite3_open_v2(path, &base, flags, NULL) != SQLITE_OK) fail(base);
    sqlite3_busy_timeout(base, 10000);
    return base;
}

static sqlite3 *open_to_read(const char *path) {
    sqlite3 *base = open_base(path, SQLITE_OPEN_READONLY);
    // Reads may look at the file in place.
    run(base, "PRAGMA cache_size=-262144; PRAGMA mmap_size=17179869184");
    return base;
}

// One thread's reads of a row by its key, each a transaction of its own, on a connection of its own.
static uint64_t look_up(void *opaque, uint64_t thread, uint64_t count, uint64_t keys, pthread_barrier_t *ready) {
    sqlite3 *base = open_to_read(opaque);
    sqlite3_stmt *select = prepare(base, "SELECT first, last, cents, placed_at, orders FROM orders WHERE id = ?");
    uint64_t state = 42 + thread, found = 0;
    static volatile int64_t kept;
    char key[16];
    pthread_barrier_wait(ready);
    for (uint64_t i = 0; i < count; i++) {
        sqlite3_bind_text(select, 1, key, snprintf(key, sizeof key, "%07u", next_stream(&state, keys)), SQLITE_STATIC);
        if (sqlite3_step(select) == SQLITE_ROW) {
            kept = sqlite3_column_text(select, 0)[0] + sqlite3_column_text(select, 1)[0] + sqlite3_column_int64(select, 2) +
                   sqlite3_column_text(select, 3)[0] + sqlite3_column_int64(select, 4);
            found++;
        }
        sqlite3_reset(select);
    }
    (void)kept;
    sqlite3_finalize(select);
    sqlite3_close_v2(base);
    return found;
}

static void make_index(sqlite3 *base) {
    double begin = now();
    run(base, "CREATE INDEX by_cents ON orders (cents)");
    printf("{\"seconds\":%.6f}\n", now() - begin);
}

static void read_ranges(sqlite3 *base, uint64_t count, uint64_t limit) {
    sqlite3_stmt *select = prepare(base, "SELECT id, first, last, cents, placed_at, orders FROM orders WHERE cents >= ? ORDER BY cents, id LIMIT ?");
    uint64_t state = 42, found = 0;
    static volatile int64_t kept;
    double begin = now();
    for (uint64_t i = 0; i < count; i++) {
        sqlite3_bind_int64(select, 1, next_stream(&state, 80000));
        sqlite3_bind_int64(select, 2, (sqlite3_int64)limit);
        while (sqlite3_step(select) == SQLITE_ROW) {
            kept = sqlite3_column_text(select, 0)[0] + sqlite3_column_text(select, 1)[0] + sqlite3_column_text(select, 2)[0] +
                   sqlite3_column_int64(select, 3) + sqlite3_column_text(select, 4)[0] + sqlite3_column_int64(select, 5);
            found++;
        }
        sqlite3_reset(select);
    }
    (void)kept;
    printf("{\"reads\":%lu,\"rows\":%lu,\"seconds\":%.6f}\n", (unsigned long)count, (unsigned long)found, now() - begin);
    sqlite3_finalize(select);
}

static void change_rows(sqlite3 *base, uint64_t count, uint64_t keys) {
    sqlite3_stmt *update = prepare(base, "UPDATE orders SET cents = ?, orders = orders + 1 WHERE id = ?");
    uint64_t state = 42;
    char key[16];
    double begin = now();
    run(base, "BEGIN IMMEDIATE");
    for (uint64_t i = 0; i < count; i++) {
        sqlite3_bind_int64(update, 1, (sqlite3_int64)(i % 900 + 10) * 100 + 7);
        sqlite3_bind_text(update, 2, key, snprintf(key, sizeof key, "%07u", next_stream(&state, keys)), SQLITE_STATIC);
        step(base, update);
    }
    run(base, "COMMIT");
    printf("{\"events\":%lu,\"seconds\":%.6f}\n", (unsigned long)count, now() - begin);
    sqlite3_finalize(update);
}

// What the five versions make of an order: cents of dollars, a name in two parts, a time that can be read.
#define FIRST_OF(name) "substr(" name ", 1, instr(" name " || ' ', ' ') - 1)"
#define LAST_OF(name) "substr(" name ", instr(" name " || ' ', ' ') + 1)"
#define CENTS_OF(total) "CAST(replace(" total ", '.', '') AS INTEGER)"
#define TIME_OF(seconds) "strftime('%Y-%m-%dT%H:%M:%SZ', " seconds ", 'unixepoch')"
#define ORDERS \
    "CREATE TABLE orders (id TEXT PRIMARY KEY, first TEXT, last TEXT, cents INTEGER, placed_at TEXT, orders INTEGER) WITHOUT ROWID"
#define MEMBERS \
    "SELECT position, json_extract(payload, '$.id') AS id, json_extract(payload, '$.customer') AS customer," \
    " json_extract(payload, '$.total') AS total, json_extract(payload, '$.placedAt') AS placed FROM events"
#define UPSERT \
    " ON CONFLICT (id) DO UPDATE SET first = excluded.first, last = excluded.last, cents = excluded.cents," \
    " placed_at = excluded.placed_at, orders = orders + 1"

// LIMIT -1 keeps a subquery whole; else its expressions are computed again for each of their uses.
static const char *REPLAY =
    "INSERT INTO orders SELECT id, " FIRST_OF("customer") ", " LAST_OF("customer") ", " CENTS_OF("total") ", " TIME_OF("placed")
    ", 1 FROM (" MEMBERS " ORDER BY position LIMIT -1) WHERE true" UPSERT;

// A bare column beside max() is taken from the row that holds the maximum.
static const char *GROUPED =
    "INSERT INTO orders SELECT id, " FIRST_OF("customer") ", " LAST_OF("customer") ", " CENTS_OF("total") ", " TIME_OF("placed")
    ", count FROM (SELECT id, customer, total, placed, max(position), count(*) AS count FROM (" MEMBERS " LIMIT -1)"
    " GROUP BY id LIMIT -1)";

static const char *CHAIN =
    "INSERT INTO orders SELECT json_extract(p, '$.id'), json_extract(p, '$.name.first'), json_extract(p, '$.name.last'),"
    " json_extract(p, '$.total.amount'), json_extract(p, '$.placedAt'), 1 FROM ("
    " SELECT json_remove(json_set(p, '$.total', json_object('amount', json_extract(p, '$.totalCents'), 'currency',"
    "   json_extract(p, '$.currency'))), '$.totalCents', '$.currency') AS p FROM ("
    " SELECT json_remove(json_set(p, '$.contact', json_object('emails', json_array(json_extract(p, '$.email')))), '$.email') AS p FROM ("
    " SELECT json_remove(json_set(p, '$.name', json_object('first', " FIRST_OF("json_extract(p, '$.customer')") ", 'last', "
    LAST_OF("json_extract(p, '$.customer')") "), '$.placedAt', " TIME_OF("json_extract(p, '$.placedAt')") "), '$.customer') AS p FROM ("
    " SELECT json_remove(json_set(payload, '$.totalCents', " CENTS_OF("json_extract(payload, '$.total')") ", '$.currency', 'USD'),"
    " '$.total') AS p FROM events ORDER BY position LIMIT -1) LIMIT -1) LIMIT -1) LIMIT -1) WHERE true" UPSERT;

static void replay(sqlite3 *base, const char *sql) {
    run(base, "DROP TABLE IF EXISTS orders; " ORDERS);
    double begin = now();
    run(base, "BEGIN");
    run(base, sql);
    run(base, "COMMIT");
    double seconds = now() - begin;
    sqlite3_stmt *count = prepare(base, "SELECT count(*), sum(orders), sum(cents), max(placed_at) FROM orders");
    if (sqlite3_step(count) != SQLITE_ROW) fail(base);
    printf("{\"rows\":%lld,\"events\":%lld,\"cents\":%lld,\"last\":\"%s\",\"seconds\":%.6f}\n", (long long)sqlite3_column_int64(count, 0),
           (long long)sqlite3_column_int64(count, 1), (long long)sqlite3_column_int64(count, 2), sqlite3_column_text(count, 3), seconds);
    sqlite3_finalize(count);
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    store s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const char *work = argv[1];
    if (strcmp(work, "rows") == 0) {
        look_up_together(&w, look_up, (void *)text(&w, "store", ""));
        return 0;
    }
    s.base = open_base(text(&w, "store", ""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    sqlite3_busy_handler(s.base, ask_again, NULL);
    run(s.base, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-262144; PRAGMA temp_store=MEMORY");
    if (strcmp(work, "append") == 0 || strcmp(work, "each") == 0 || strcmp(work, "bulk") == 0) {
        run(s.base,
            "CREATE TABLE IF NOT EXISTS events (position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL,"
            " type TEXT NOT NULL, time INTEGER NOT NULL DEFAULT (unixepoch()), payload TEXT NOT NULL, UNIQUE (stream, revision))");
        s.begin = prepare(s.base, "BEGIN IMMEDIATE");
        s.insert = prepare(s.base, "INSERT INTO events (stream, revision, type, payload) VALUES (?, ?, 'OrderPlaced', ?)");
        s.commit = prepare(s.base, "COMMIT");
        events all = read_events(&w);
        s.revisions = new_revisions(&all);
        if (work[0] == 'a') append_singly(&w, &all, &s, commit);
        else if (work[0] == 'e') append_each(&w, &all, &s);
        else append_together(&w, &all, &s, commit);
    } else {
        // Reads may look at the file in place.
        run(s.base, "PRAGMA mmap_size=17179869184");
        if (strcmp(work, "scan") == 0) scan(s.base, number(&w, "times", 3));
        else if (strcmp(work, "streams") == 0) read_streams(&w, s.base);
        else if (strcmp(work, "tail") == 0) read_tail(&w, s.base);
        else if (strcmp(work, "replay") == 0) replay(s.base, REPLAY);
        else if (strcmp(work, "index") == 0) make_index(s.base);
        else if (strcmp(work, "ranges") == 0) read_ranges(s.base, number(&w, "count", 1000), number(&w, "limit", 100));
        else if (strcmp(work, "changes") == 0) change_rows(s.base, number(&w, "count", 1000), number(&w, "keys", 1));
        else if (strcmp(work, "grouped") == 0) replay(s.base, GROUPED);
        else replay(s.base, CHAIN);
    }
    sqlite3_finalize(s.begin);
    sqlite3_finalize(s.insert);
    sqlite3_finalize(s.commit);
    sqlite3_close_v2(s.base);
    return 0;
}
