/* The law of a parent matrix and its kernels for every SIMD target. */
#include "matrix.h"

#include <string.h>

enum {
    GUIDE_BITS = 10,
    PLACE_BITS = 7,
    PLACE = (1 << PLACE_BITS) - 1,
    CATEGORY = (1 << 10) - 1
};

int dpf_matrix_guide(const uint64_t *tops, uint32_t k, uint32_t first, uint32_t *guide) {
    if (k == 0 || k > DPF_MATRIX_MAX || first >= k || tops[k - 1] != UINT64_MAX) return DPF_ELAW;
    for (uint32_t x = first + 1; x < k; ++x)
        if (tops[x] < tops[x - 1]) return DPF_ELAW;
    const unsigned shift = 64 - GUIDE_BITS;
    uint32_t x = first;
    for (uint32_t bin = 0; bin < DPF_GUIDE_SIZE; ++bin) {
        const uint64_t lowest = (uint64_t)bin << shift, highest = lowest + ((UINT64_C(1) << shift) - 1);
        while (tops[x] < lowest) ++x;
        if (k > DPF_SPLIT_MAX) {
            guide[bin] = x;
            continue;
        }
        uint32_t places = 0, look = 0;
        for (unsigned change = 0; change < 3; ++change) {
            const uint32_t y = x + change; /* the last category has no word after it: y < k - 1 where tops[y] < highest */
            const int changes = y < k && tops[y] < highest; /* a category without words is a change at the place of the last */
            places |= (changes ? (uint32_t)((tops[y] - lowest) >> 48) : (uint32_t)PLACE) << change * PLACE_BITS;
            if (changes && change == 2) look = tops[y + 1] < highest;
        }
        guide[bin] = look << 31 | x << 3 * PLACE_BITS | places;
    }
    return DPF_OK;
}

/* Answers of a block of cells: the category of a word is the first whose last word is not below it, and entries of the guide
 * enclose it. Two passes, so that the cache lines of many cells are on their way at once. */
enum { BLOCK = 64 };

static inline void decide_block(const dpf_matrix_t *law, const uint64_t *words, const uint32_t *codes, uint32_t *answers,
                                size_t count) {
    const unsigned down = law->k <= DPF_SPLIT_MAX ? 3 * PLACE_BITS : 0;
    const uint32_t mask = law->k <= DPF_SPLIT_MAX ? CATEGORY : UINT32_MAX;
    uint32_t lows[BLOCK], highs[BLOCK];
    for (size_t j = 0; j < count; ++j) {
        const size_t row = codes[j] < law->k ? codes[j] : law->k, bin = (size_t)(words[j] >> (64 - GUIDE_BITS));
        const uint32_t *const entry = law->guide + row * DPF_GUIDE_SIZE + bin;
        const int last = bin + 1 == DPF_GUIDE_SIZE;
        lows[j] = entry[0] >> down & mask;
        highs[j] = last ? law->k - 1 : entry[!last] >> down & mask;
        __builtin_prefetch(law->tops + row * law->k + lows[j]);
    }
    for (size_t j = 0; j < count; ++j) {
        const uint64_t *const tops = law->tops + (codes[j] < law->k ? codes[j] : law->k) * (size_t)law->k;
        uint32_t low = lows[j], left = highs[j] - low; /* without branches: their outcomes are random */
        while (left) {
            const uint32_t half = left / 2;
            const int above = words[j] > tops[low + half];
            low += above ? half + 1 : 0;
            left = above ? left - half - 1 : half;
        }
        answers[j] = low;
    }
}

#define DPF_LAW dpf_matrix_t
#define DPF_KERNEL "matrix.kernel.h"
#define DPF_KERNELS dpf_matrix
#include "targets.kernel.h"
