#include "popcount.h"

#include <string.h>

/* Sixteen words a lane go through a tree of full adders, so that only every sixteenth is counted bit by bit (Harley and Seal).
 * All lanes do the same, which compilers turn into vectors of whatever width the target has. */
enum { LANES = 8, ROUND = 16, STEP = 8 * LANES * ROUND };

static inline uint64_t load(const uint8_t *at) { /* the byte order does not matter: bits are only counted */
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t count_word(uint64_t x) {
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    x += x >> 8;
    x += x >> 16;
    return (x + (x >> 32)) & 0x7F;
}

/* a + b + *low = 2 * (what is returned) + *low, in each bit. */
static inline uint64_t add(uint64_t *low, uint64_t a, uint64_t b) {
    const uint64_t half = *low ^ a;
    const uint64_t high = (*low & a) | (half & b);
    *low = half ^ b;
    return high;
}

static uint64_t count_steps(const uint8_t *at, size_t steps) {
    uint64_t ones[LANES] = {0}, twos[LANES] = {0}, fours[LANES] = {0}, eights[LANES] = {0}, total[LANES] = {0};
    for (; steps; --steps, at += STEP) {
        for (size_t lane = 0; lane < LANES; ++lane) {
            const uint8_t *const from = at + 8 * lane;
            uint64_t two[2], four[2], eight[2];
            for (size_t e = 0; e < 2; ++e) {
                for (size_t f = 0; f < 2; ++f) {
                    for (size_t t = 0; t < 2; ++t) {
                        const size_t word = 8 * e + 4 * f + 2 * t;
                        two[t] = add(&ones[lane], load(from + 8 * LANES * word), load(from + 8 * LANES * (word + 1)));
                    }
                    four[f] = add(&twos[lane], two[0], two[1]);
                }
                eight[e] = add(&fours[lane], four[0], four[1]);
            }
            total[lane] += count_word(add(&eights[lane], eight[0], eight[1]));
        }
    }
    uint64_t sum = 0;
    for (size_t lane = 0; lane < LANES; ++lane) {
        sum += 16 * total[lane] + 8 * count_word(eights[lane]) + 4 * count_word(fours[lane]) + 2 * count_word(twos[lane]) +
               count_word(ones[lane]);
    }
    return sum;
}

static uint64_t count_bytes(const uint8_t *at, size_t bytes) {
    uint64_t sum = count_steps(at, bytes / STEP);
    at += bytes / STEP * STEP;
    for (bytes %= STEP; bytes >= 8; bytes -= 8, at += 8) sum += count_word(load(at));
    uint64_t rest = 0;
    memcpy(&rest, at, bytes);
    return sum + count_word(rest);
}

static uint64_t count_run(const uint8_t *bits, uint64_t first, uint64_t length) {
    bits += first / 8;
    const unsigned skip = (unsigned)(first % 8);
    if (skip + length <= 8) return count_word((uint64_t)*bits >> skip & ((UINT64_C(1) << length) - 1));
    uint64_t sum = 0;
    if (skip) {
        sum = count_word((uint64_t)*bits++ >> skip);
        length -= 8 - skip;
    }
    sum += count_bytes(bits, (size_t)(length / 8));
    if (length % 8) sum += count_word(bits[length / 8] & ((UINT64_C(1) << length % 8) - 1));
    return sum;
}

size_t dpf_count_ones(const uint8_t *bits, uint64_t first, uint64_t size, const int64_t *lengths, size_t n, uint64_t skip,
                      int64_t *ones) {
    for (size_t i = 0; i < n; ++i, skip = 0) {
        const uint64_t left = (uint64_t)lengths[i] - skip;
        const uint64_t part = left < size ? left : size;
        if (part) ones[i] += (int64_t)count_run(bits, first, part);
        if (part < left) return i;
        first += part;
        size -= part;
    }
    return n;
}
