#include "masses.h"

__extension__ typedef unsigned __int128 dpf_u128;

static inline dpf_u128 joined(const uint64_t *words) { return (dpf_u128)words[1] << 64 | words[0]; }

static inline void part(dpf_u128 number, uint64_t *words) {
    words[0] = (uint64_t)number;
    words[1] = (uint64_t)(number >> 64);
}

static inline dpf_u128 mass(int64_t measure, uint64_t weight) { return (dpf_u128)(uint64_t)measure * weight; }

void dpf_masses_total(const int64_t *measures, const uint64_t *weights, size_t n, uint64_t sum[2]) {
    dpf_u128 total = joined(sum);
    for (size_t i = 0; i < n; ++i) total += mass(measures[i], weights[i]);
    part(total, sum);
}

size_t dpf_masses_find(const int64_t *measures, const uint64_t *weights, size_t n, uint64_t base, uint64_t sum[2],
                       const uint64_t *targets, size_t n_targets, uint64_t *entries, uint64_t *rests) {
    dpf_u128 before = joined(sum);
    size_t found = 0;
    for (size_t i = 0; i < n && found < n_targets; ++i) {
        const dpf_u128 after = before + mass(measures[i], weights[i]);
        for (; found < n_targets && joined(targets + 2 * found) < after; ++found) {
            entries[found] = base + i;
            part(joined(targets + 2 * found) - before, rests + 2 * found);
        }
        before = after;
    }
    part(before, sum);
    return found;
}
