#pragma once
#include <stdint.h>

// What Swift's vectors have no cheap way for: which of sixteen bytes come first. SSE2 and NEON belong to every 64-bit processor of
// their kinds, so nothing is chosen at run time; another processor takes the loop.

typedef uint8_t bits_sixteen __attribute__((ext_vector_type(16)));

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/// The index of the first byte whose highest bit is set; 16 where none is.
static inline int32_t bits_first(bits_sixteen bytes) {
#if defined(__SSE2__)
    return __builtin_ctz((uint32_t)_mm_movemask_epi8((__m128i)bytes) | 0x10000u);
#elif defined(__ARM_NEON)
    // Four bits of each byte, in one word.
    uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8((uint8x16_t)bytes), 4)), 0) & 0x8888888888888888u;
    return mask == 0 ? 16 : __builtin_ctzll(mask) >> 2;
#else
    for (int32_t index = 0; index < 16; index++)
        if (bytes[index] & 0x80) return index;
    return 16;
#endif
}
