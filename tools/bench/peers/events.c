// Makes the events that every driver is given: 200 bytes of JSON each, the same ones for the same numbers.
//
// usage: events --events N [--streams S] [--from N] [--order random|round] [--frames FILE] [--lines FILE]
//
// `--from` numbers the streams from there on. `random` draws each event's stream; `round` gives every stream the same number of events,
// interleaved.
// Frames: u32 stream, u32 size, payload. Lines: what `evstore import` reads.
#include "common.h"

static const char *FIRST[] = {"Ada", "Grace", "Barbara", "Edsger", "Donald", "Alan", "Frances", "Niklaus"};
static const char *LAST[] = {"Lovelace", "Hopper", "Liskov", "Dijkstra", "Knuth", "Turing", "Allen", "Wirth"};

static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int write_payload(char *text, uint64_t index, uint32_t stream, uint64_t *state) {
    const char *first = FIRST[draw(state) % 8], *last = LAST[draw(state) % 8];
    char email[64];
    int size = snprintf(email, sizeof email, "%s.%s@example.org", first, last);
    for (int i = 0; i < size; i++) if (email[i] >= 'A' && email[i] <= 'Z') email[i] += 32;
    uint64_t cents = draw(state) % 10000000;
    size = snprintf(text, 256,
                    "{\"id\":\"%07u\",\"customer\":\"%s %s\",\"email\":\"%s\",\"total\":\"%lu.%02lu\",\"placedAt\":%lu,\"note\":\"",
                    stream, first, last, email, (unsigned long)(cents / 100), (unsigned long)(cents % 100),
                    (unsigned long)(1767225600 + index));
    while (size < 198) text[size++] = 'x';
    text[size++] = '"';
    text[size++] = '}';
    return size;
}

int main(int argc, char **argv) {
    words w = read_words(argc - 1, argv + 1);
    uint64_t events = number(&w, "events", 0), streams = number(&w, "streams", 10000), state = 20261121;
    uint32_t from = (uint32_t)number(&w, "from", 0);
    int round = strcmp(text(&w, "order", "random"), "round") == 0;
    const char *frames = text(&w, "frames", NULL), *lines = text(&w, "lines", NULL);
    FILE *binary = frames ? fopen(frames, "w") : NULL, *plain = lines ? fopen(lines, "w") : NULL;
    if ((frames && !binary) || (lines && !plain)) die("opening the output");
    char payload[256];
    for (uint64_t i = 0; i < events; i++) {
        // An odd multiplier mixes the streams of a round.
        uint32_t stream = (uint32_t)(round ? (i * 2654435761u) % streams : draw(&state) % streams) + from;
        uint32_t size = (uint32_t)write_payload(payload, i, stream, &state);
        if (binary) {
            fwrite(&stream, 4, 1, binary);
            fwrite(&size, 4, 1, binary);
            fwrite(payload, 1, size, binary);
        }
        if (plain) fprintf(plain, "{\"stream\":\"order-%07u\",\"type\":\"OrderPlaced\",\"data\":%.*s}\n", stream, (int)size, payload);
    }
    if ((binary && fclose(binary)) || (plain && fclose(plain))) die("writing the output");
    return 0;
}
