// PostgreSQL with the usual event table, over a Unix socket, with prepared statements; every commit is on the disk.
//
// usage: postgres append|bulk --at CONNINFO --frames FILE --events N [--writers K | --batch B]
//        postgres replay --at CONNINFO --frames FILE [--events N]
//        postgres size --at CONNINFO
//        postgres listen --at CONNINFO --count N
//        postgres publish --at CONNINFO --frames FILE --events N --rate R
//
// `append`: a connection a writer, a transaction an event (the server makes waiting commits durable together). `bulk`: COPY.
// `replay` fills the table where it does not hold these events, takes version 1 to 5 and folds in one statement.
// `listen` makes the table anew, says that it listens, and then when it got which event; `publish` inserts and notifies in one statement.
#include "common.h"
#include <libpq-fe.h>
#include <poll.h>

static const char *conninfo;

static void fail(PGconn *connection) { fprintf(stderr, "postgres: %s", PQerrorMessage(connection)); exit(1); }

static PGconn *open_connection(void) {
    PGconn *connection = PQconnectdb(conninfo);
    if (PQstatus(connection) != CONNECTION_OK) fail(connection);
    return connection;
}

static void take(PGconn *connection, PGresult *result, ExecStatusType wanted) {
    if (PQresultStatus(result) != wanted) fail(connection);
    PQclear(result);
}

static void run(PGconn *connection, const char *sql) { take(connection, PQexec(connection, sql), PGRES_COMMAND_OK); }

static long long ask(PGconn *connection, const char *sql, int column) {
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) fail(connection);
    long long value = strtoll(PQgetvalue(result, 0, column), NULL, 10);
    PQclear(result);
    return value;
}

static void make_table(PGconn *connection) {
    run(connection, "SET client_min_messages = warning");
    run(connection, "DROP TABLE IF EXISTS events");
    run(connection,
        "CREATE TABLE events (position bigserial PRIMARY KEY, stream text NOT NULL, revision int NOT NULL, type text NOT NULL,"
        " time timestamptz NOT NULL DEFAULT now(), payload jsonb NOT NULL, UNIQUE (stream, revision))");
}

typedef struct { PGconn *connection; const events *all; uint32_t *revisions; uint64_t index, writers; double *latencies; pthread_t thread; } client;

static void *write_events_alone(void *argument) {
    client *c = argument;
    for (uint64_t i = c->index; i < c->all->count; i += c->writers) {
        const event *e = &c->all->all[i];
        char stream[32], revision[16];
        snprintf(stream, sizeof stream, "order-%07u", e->stream);
        snprintf(revision, sizeof revision, "%u", c->revisions[i]);
        const char *values[3] = {stream, revision, e->payload};
        int lengths[3] = {0, 0, (int)e->size}, formats[3] = {0, 0, 0};
        // The frame's payload is not terminated.
        char payload[4096];
        memcpy(payload, e->payload, e->size);
        payload[e->size] = 0;
        values[2] = payload;
        double asked = now();
        take(c->connection, PQexecPrepared(c->connection, "append", 3, values, lengths, formats, 0), PGRES_COMMAND_OK);
        c->latencies[i] = now() - asked;
    }
    return NULL;
}

static void append(const words *w, const events *all) {
    uint64_t writers = number(w, "writers", 1);
    client *clients = calloc(writers, sizeof *clients);
    double *latencies = calloc(all->count, sizeof *latencies);
    // Every event's revision is known before: two writers may be in one stream.
    uint32_t *next = new_revisions(all), *revisions = calloc(all->count, sizeof *revisions);
    for (uint64_t i = 0; i < all->count; i++) revisions[i] = next[all->all[i].stream]++;
    for (uint64_t i = 0; i < writers; i++) {
        clients[i] = (client){.connection = open_connection(), .all = all, .revisions = revisions, .index = i, .writers = writers,
                              .latencies = latencies};
        PGresult *prepared = PQprepare(
            clients[i].connection, "append", "INSERT INTO events (stream, revision, type, payload) VALUES ($1, $2, 'OrderPlaced', $3)", 3, NULL);
        take(clients[i].connection, prepared, PGRES_COMMAND_OK);
    }
    double begin = now();
    for (uint64_t i = 0; i < writers; i++) pthread_create(&clients[i].thread, NULL, write_events_alone, &clients[i]);
    for (uint64_t i = 0; i < writers; i++) pthread_join(clients[i].thread, NULL);
    double seconds = now() - begin;
    for (uint64_t i = 0; i < writers; i++) PQfinish(clients[i].connection);
    say_appends(all->count, all->count, seconds, latencies, all->count);
}

typedef struct { PGconn *connection; uint32_t *revisions; char *buffer; } loader;

static void copy(void *opaque, const event **batch, uint64_t count) {
    loader *l = opaque;
    run(l->connection, "BEGIN");
    take(l->connection, PQexec(l->connection, "COPY events (stream, revision, type, payload) FROM STDIN"), PGRES_COPY_IN);
    for (uint64_t i = 0; i < count; i++) {
        const event *e = batch[i];
        int size = sprintf(l->buffer, "order-%07u\t%u\tOrderPlaced\t%.*s\n", e->stream, l->revisions[e->stream]++, (int)e->size, e->payload);
        if (PQputCopyData(l->connection, l->buffer, size) != 1) fail(l->connection);
    }
    if (PQputCopyEnd(l->connection, NULL) != 1) fail(l->connection);
    take(l->connection, PQgetResult(l->connection), PGRES_COMMAND_OK);
    while (PQgetResult(l->connection) != NULL) {}
    run(l->connection, "COMMIT");
}

static loader new_loader(PGconn *connection, const events *all) {
    return (loader){connection, new_revisions(all), malloc(1 << 16)};
}

static const char *REPLAY =
    "INSERT INTO orders SELECT DISTINCT ON (id) id, split_part(customer, ' ', 1), substr(customer, strpos(customer || ' ', ' ') + 1),"
    " replace(total, '.', '')::bigint, to_char(to_timestamp(placed) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),"
    " count(*) OVER (PARTITION BY id) FROM (SELECT position, payload->>'id' AS id, payload->>'customer' AS customer,"
    " payload->>'total' AS total, (payload->>'placedAt')::bigint AS placed FROM events) AS members ORDER BY id, position DESC";

// The table is filled once for several replays.
static void replay(PGconn *connection, const events *all) {
    char wanted[128];
    snprintf(wanted, sizeof wanted, "filled with %lu, last of %u", (unsigned long)all->count, all->all[all->count - 1].stream);
    PGresult *comment = PQexec(connection, "SELECT obj_description(to_regclass('events'))");
    int isThere = PQntuples(comment) == 1 && strcmp(PQgetvalue(comment, 0, 0), wanted) == 0;
    PQclear(comment);
    if (!isThere) {
        make_table(connection);
        loader l = new_loader(connection, all);
        for (uint64_t start = 0; start < all->count; start += 10000) {
            const event *batch[10000];
            uint64_t count = all->count - start < 10000 ? all->count - start : 10000;
            for (uint64_t i = 0; i < count; i++) batch[i] = &all->all[start + i];
            copy(&l, batch, count);
        }
        char sql[256];
        snprintf(sql, sizeof sql, "COMMENT ON TABLE events IS '%s'", wanted);
        run(connection, sql);
        run(connection, "VACUUM ANALYZE events");
        run(connection, "CHECKPOINT");
    }
    run(connection, "DROP TABLE IF EXISTS orders");
    run(connection, "CREATE TABLE orders (id text PRIMARY KEY, first text, last text, cents bigint, placed_at text, orders bigint)");
    double begin = now();
    run(connection, REPLAY);
    double seconds = now() - begin;
    const char *sums = "SELECT count(*), sum(orders), sum(cents) FROM orders";
    printf("{\"rows\":%lld,\"events\":%lld,\"cents\":%lld,\"seconds\":%.6f}\n", ask(connection, sums, 0), ask(connection, sums, 1),
           ask(connection, sums, 2), seconds);
}

static void publish(const words *w, PGconn *connection, const events *all) {
    double *begins = calloc(all->count, sizeof *begins), *ends = calloc(all->count, sizeof *ends);
    double step = 1.0 / (double)number(w, "rate", 200);
    long long *positions = calloc(all->count, sizeof *positions);
    uint32_t *revisions = new_revisions(all);
    const char *sql =
        "WITH added AS (INSERT INTO events (stream, revision, type, payload) VALUES ($1, $2, 'OrderPlaced', $3) RETURNING position)"
        " SELECT position, pg_notify('appended', '') FROM added";
    take(connection, PQprepare(connection, "publish", sql, 3, NULL), PGRES_COMMAND_OK);
    double start = now();
    for (uint64_t i = 0; i < all->count; i++) {
        const event *e = &all->all[i];
        char stream[32], revision[16], payload[4096];
        snprintf(stream, sizeof stream, "order-%07u", e->stream);
        snprintf(revision, sizeof revision, "%u", revisions[e->stream]++);
        snprintf(payload, sizeof payload, "%.*s", (int)e->size, e->payload);
        const char *values[3] = {stream, revision, payload};
        wait_until(start + (double)i * step);
        begins[i] = now();
        PGresult *result = PQexecPrepared(connection, "publish", 3, values, NULL, NULL, 0);
        ends[i] = now();
        if (PQresultStatus(result) != PGRES_TUPLES_OK) fail(connection);
        positions[i] = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        PQclear(result);
    }
    printf("{");
    say_positions(positions, all->count);
    printf(",");
    say_moments("begins", begins, all->count);
    printf(",");
    say_moments("ends", ends, all->count);
    printf("}\n");
}

// Waits on the socket until somebody has notified.
static void wait_for_notice(PGconn *connection) {
    for (int told = 0; !told;) {
        PGnotify *notice;
        while ((notice = PQnotifies(connection)) != NULL) {
            told = 1;
            PQfreemem(notice);
        }
        struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
        if (!told && (poll(&socket, 1, -1) < 0 || PQconsumeInput(connection) == 0)) fail(connection);
    }
}

static void listen_to(const words *w, PGconn *connection) {
    uint64_t count = number(w, "count", 1), seen = 0;
    double *moments = calloc(count, sizeof *moments);
    long long *positions = calloc(count, sizeof *positions);
    make_table(connection);
    run(connection, "LISTEN appended");
    take(connection, PQprepare(connection, "next", "SELECT position, payload FROM events WHERE position > $1 ORDER BY position", 1, NULL),
         PGRES_COMMAND_OK);
    printf("{\"ready\":true}\n");
    fflush(stdout);
    while (seen < count) {
        wait_for_notice(connection);
        char after[32];
        snprintf(after, sizeof after, "%lld", seen ? positions[seen - 1] : 0);
        const char *values[1] = {after};
        PGresult *result = PQexecPrepared(connection, "next", 1, values, NULL, NULL, 0);
        if (PQresultStatus(result) != PGRES_TUPLES_OK) fail(connection);
        double moment = now();
        for (int row = 0; row < PQntuples(result) && seen < count; row++, seen++) {
            positions[seen] = strtoll(PQgetvalue(result, row, 0), NULL, 10);
            moments[seen] = moment;
        }
        PQclear(result);
    }
    printf("{");
    say_positions(positions, count);
    printf(",");
    say_moments("moments", moments, count);
    printf("}\n");
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    conninfo = text(&w, "at", "");
    PGconn *connection = open_connection();
    run(connection, "SET client_min_messages = warning");
    if (strcmp(argv[1], "size") == 0) {
        printf("{\"bytes\":%lld}\n", ask(connection, "SELECT pg_total_relation_size('events')", 0));
    } else if (strcmp(argv[1], "listen") == 0) {
        listen_to(&w, connection);
    } else {
        events all = read_events(&w);
        if (strcmp(argv[1], "replay") == 0) {
            replay(connection, &all);
        } else if (strcmp(argv[1], "publish") == 0) {
            publish(&w, connection, &all);
        } else {
            make_table(connection);
            loader l = new_loader(connection, &all);
            if (strcmp(argv[1], "append") == 0) append(&w, &all);
            else append_together(&w, &all, &l, copy);
        }
    }
    PQfinish(connection);
    return 0;
}
