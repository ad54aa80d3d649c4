// Redis with a row's JSON under its key, over a Unix socket.
//
// usage: redis fill --at SOCKET --lines FILE                           KEY, a tab and JSON in each line
//        redis rows --at SOCKET --count N --keys N [--threads T]       a connection each, a GET a read
#include "common.h"
#include <hiredis/hiredis.h>

static redisContext *open_connection(const char *at) {
    redisContext *connection = redisConnectUnix(at);
    if (connection == NULL || connection->err) {
        fprintf(stderr, "redis: %s\n", connection ? connection->errstr : "no memory");
        exit(1);
    }
    return connection;
}

static redisReply *take(redisContext *connection) {
    redisReply *reply;
    if (redisGetReply(connection, (void **)&reply) != REDIS_OK || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "redis: %s\n", connection->err ? connection->errstr : "refused");
        exit(1);
    }
    return reply;
}

static void fill(const words *w, redisContext *connection) {
    FILE *lines = fopen(text(w, "lines", ""), "r");
    if (!lines) die("opening the rows");
    char *line = NULL;
    size_t room = 0;
    uint64_t rows = 0;
    for (ssize_t size; (size = getline(&line, &room, lines)) > 0; rows++) {
        char *tab = memchr(line, '\t', (size_t)size);
        if (!tab) die("a line without a tab");
        size_t key = (size_t)(tab - line), value = (size_t)size - key - 1;
        if (tab[value] == '\n') value--;
        redisAppendCommand(connection, "SET orders:%b %b", line, key, tab + 1, value);
        if (rows % 1000 == 999) for (int i = 0; i < 1000; i++) freeReplyObject(take(connection));
    }
    for (uint64_t i = 0; i < rows % 1000; i++) freeReplyObject(take(connection));
    printf("{\"rows\":%lu}\n", (unsigned long)rows);
}

static uint64_t look_up(void *at, uint64_t thread, uint64_t count, uint64_t keys, pthread_barrier_t *ready) {
    redisContext *connection = open_connection(at);
    uint64_t state = 42 + thread, found = 0;
    pthread_barrier_wait(ready);
    for (uint64_t i = 0; i < count; i++) {
        redisAppendCommand(connection, "GET orders:%07u", next_stream(&state, keys));
        redisReply *reply = take(connection);
        found += reply->type == REDIS_REPLY_STRING && reply->len > 0;
        freeReplyObject(reply);
    }
    redisFree(connection);
    return found;
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    const char *at = text(&w, "at", "");
    if (strcmp(argv[1], "rows") == 0) {
        look_up_together(&w, look_up, (void *)at);
        return 0;
    }
    redisContext *connection = open_connection(at);
    fill(&w, connection);
    redisFree(connection);
    return 0;
}
