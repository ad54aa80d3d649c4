#pragma once
// On x86-64 the library has several versions and takes the widest that the processor knows; elsewhere there is one.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

static inline XXH64_hash_t xxh3_64(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }
static inline XXH64_hash_t xxh3_64_seeded(const void *bytes, size_t count, XXH64_hash_t seed) {
    return XXH3_64bits_withSeed(bytes, count, seed);
}
