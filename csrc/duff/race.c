#include "race.h"

#include <float.h>
#include <string.h>

static const double ROUNDING = 0x1p-46; /* more than what a dozen roundings and the logarithm add up to, relatively */
static const double INFINITE = (double)__builtin_inff();

/* artanh(s) / s for s^2 = q <= 0.0295: the first term left out is below 2^-59. */
static inline double artanh_series(double q) {
    static const double odd[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3};
    double sum = odd[0];
    for (int i = 1; i < 10; ++i) sum = sum * q + odd[i];
    return sum * q + 1.0;
}

double dpf_ln(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    /* x = 2^k m with m in [sqrt(1/2), sqrt(2)): counted from the bits of sqrt(1/2) */
    const uint64_t from = bits - 0x3fe6a09e667f3bcdu;
    const int64_t k = (int64_t)from >> 52;
    bits = (from & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
    double m;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0);
    return (double)k * 0x1.62e42fefa39efp-1 + 2.0 * s * artanh_series(s * s);
}

double dpf_exponential(uint64_t word, double *spread) {
    if (word < (uint64_t)1 << 62) {
        /* -ln(1 - u) = 2 artanh(u / (2 - u)); within the interval u moves by half of 2^-64, E by less than 4/3 of that */
        const double u = ((double)word + 0.5) * 0x1p-64;
        const double s = u / (2.0 - u);
        *spread = 2.0 / ((double)word + 1.0);
        return 2.0 * s * artanh_series(s * s);
    }
    /* 1 - u lies between (left - 1) and left parts of 2^64, and E is at least ln(4/3) */
    const uint64_t left = 0 - word;
    *spread = left > 1 ? 4.0 / (double)(left - 1) : INFINITE;
    return -dpf_ln(((double)left - 0.5) * 0x1p-64);
}

void dpf_race_prune(dpf_race_t *race) {
    size_t kept = 0;
    for (size_t i = 0; i < race->count; ++i) {
        if (race->keys[i] > race->best) continue;
        race->keys[kept] = race->keys[i];
        race->entries[kept++] = race->entries[i];
    }
    race->count = kept;
}

/* Enter one with its key between low and high; 0 if there is no room. */
static inline int enter(dpf_race_t *race, uint64_t entry, double low, double high) {
    if (low > race->best) return 1;
    if (race->count == race->capacity) {
        dpf_race_prune(race);
        if (race->count == race->capacity) return 0;
    }
    race->entries[race->count] = entry;
    race->keys[race->count++] = low;
    if (high < race->best) race->best = high;
    return 1;
}

size_t dpf_race_masses(const int64_t *measures, const uint64_t *weights, const uint64_t *words, size_t n, uint64_t base,
                       dpf_race_t *race) {
    for (size_t i = 0; i < n; ++i) {
        const double mass = (double)measures[i] * (double)weights[i];
        if (mass == 0.0) continue;
        /* E >= u: most entries are out of the race before any logarithm. */
        if ((double)words[i] * 0x1p-64 > race->best * mass * (1.0 + 0x1p-40)) continue;
        double spread;
        const double key = dpf_exponential(words[i], &spread) / mass;
        spread += ROUNDING;
        const int known = spread < 0.5;
        if (!enter(race, base + i, known ? key * (1.0 - spread) : 0.0, known ? key * (1.0 + spread) : INFINITE)) return i;
    }
    return n;
}

size_t dpf_race_logs(const double *logs, const uint64_t *words, size_t n, uint64_t base, dpf_race_t *race) {
    for (size_t i = 0; i < n; ++i) {
        if (logs[i] < -DBL_MAX) continue;
        double spread;
        const double log_e = dpf_ln(dpf_exponential(words[i], &spread));
        const double key = log_e - logs[i];
        const double size = (log_e < 0 ? -log_e : log_e) + (logs[i] < 0 ? -logs[i] : logs[i]);
        const double error = 4.0 * ROUNDING * (16.0 + size) + 2.0 * spread; /* |ln(1 + s)| <= 2 |s| for |s| <= 1/2 */
        const int known = spread < 0.25;
        if (!enter(race, base + i, known ? key - error : -INFINITE, known ? key + error : INFINITE)) return i;
    }
    return n;
}
