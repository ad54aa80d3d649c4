// The limit of the disk: a file that is only written and synced.
//
// usage: rawfile append|bulk --store FILE --frames FILE --events N [--writers K | --batch B]
//
// Each event is a header of 24 bytes and its payload; a commit is one write and one fdatasync.
#include "common.h"

typedef struct { int file; char *buffer; size_t room; uint64_t position; } store;

static void commit(void *opaque, const event **batch, uint64_t count) {
    store *s = opaque;
    size_t size = 0;
    for (uint64_t i = 0; i < count; i++) size += 24 + batch[i]->size;
    if (size > s->room) s->buffer = realloc(s->buffer, s->room = size * 2);
    char *at = s->buffer;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t header[3] = {++s->position, batch[i]->stream, batch[i]->size};
        memcpy(at, header, sizeof header);
        memcpy(at + sizeof header, batch[i]->payload, batch[i]->size);
        at += sizeof header + batch[i]->size;
    }
    if (write(s->file, s->buffer, size) != (ssize_t)size || fdatasync(s->file) != 0) die("writing");
}

int main(int argc, char **argv) {
    words w = read_words(argc - 2, argv + 2);
    events all = read_events(&w);
    store s = {.file = open(text(&w, "store", ""), O_CREAT | O_EXCL | O_WRONLY, 0600)};
    if (s.file < 0) die("opening the store");
    if (strcmp(argv[1], "append") == 0) append_singly(&w, &all, &s, commit);
    else append_together(&w, &all, &s, commit);
    return 0;
}
