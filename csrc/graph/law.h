/* The law of one edge, on keys: integers in the order of the probabilities they stand for.
 *
 * A probability p is the exact number x = min(p, 1 - p), a double, and its side. Its key is the bits of x where p <= 1/2, and
 * DPF_KEY_ONE minus the bits of 1 - p above: doubles of one sign are ordered as their bits, so keys are ordered as p, no two
 * keys stand for one p, and DPF_KEY_ONE - key is the key of 1 - p.
 *
 * An edge (epsilon, delta) allows p' <= U(p) = min(1, E p + d, 1 - (1 - p - d) / E), E = e^epsilon. dpf_step returns a key of at
 * most U(p): both candidates are computed, each rounded down, and the smaller one is taken, but never less than p itself. Each
 * candidate is a composition of rounded operations that are monotone, so dpf_step is; above 1/2 the second candidate is U (the
 * kink is (1 - d) / (1 + E) <= 1/2), and leaving out the first there keeps it monotone, because a minimum is at most the second.
 *
 * "Down" is one unit below the nearest double, "up" one above: at most one and a half units from the exact result.
 *
 * The weight of an edge stands for E: E rounded down, to 1 where it is below 1 + 2^-50 (the candidates would lie too near one
 * another for their errors), or, where that may overflow (epsilon above 709), e^-epsilon rounded up, which is less than 1.
 */
#ifndef DPF_LAW_H
#define DPF_LAW_H

#include <string.h>

#include "dpf.h"

#define DPF_KEY_HALF UINT64_C(0x3FE0000000000000)
#define DPF_KEY_ONE UINT64_C(0x7FC0000000000000)
#define DPF_BITS_ONE UINT64_C(0x3FF0000000000000)

static inline uint64_t dpf_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double dpf_number(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Key of 1 - b, b the number with these bits, at least 0; below 0 it is 0. Exact: both sides of 1/2 are stored as they are. */
static inline uint64_t dpf_key_below_one(uint64_t b)
{
    if (b <= DPF_KEY_HALF) {
        return DPF_KEY_ONE - b;
    }
    return b >= DPF_BITS_ONE ? 0 : dpf_bits(1.0 - dpf_number(b));
}

/* Bits of (y - d) / E rounded up, y > 0; 0 where y <= d. */
static inline uint64_t dpf_shrink_up(double y, double weight, double delta)
{
    if (delta > 0.0) {
        if (y <= delta) {
            return 0;
        }
        y = dpf_number(dpf_bits(y - delta) + 1);
    }
    return dpf_bits(weight >= 1.0 ? y / weight : y * weight) + 1;
}

static inline uint64_t dpf_step(uint64_t key, double weight, double delta)
{
    if (key > DPF_KEY_HALF) {
        const uint64_t y = DPF_KEY_ONE - key;
        if (y == 0) {
            return key;
        }
        const uint64_t b = dpf_shrink_up(dpf_number(y), weight, delta);
        return DPF_KEY_ONE - (b < y ? b : y);
    }
    const double x = dpf_number(key);
    uint64_t a = key;
    if (key != 0) {
        a = dpf_bits(weight >= 1.0 ? x * weight : x / weight) - 1;
    }
    if (delta > 0.0) {
        a = dpf_bits(dpf_number(a) + delta) - 1;
    }
    if (a > DPF_KEY_HALF) {
        a = a >= DPF_BITS_ONE ? DPF_KEY_ONE : DPF_KEY_ONE - dpf_bits(1.0 - dpf_number(a));
    }
    /* The candidates differ by (1 - 1/E) (1 - d - x - E x). Where that exceeds the errors of the second, 4 units of 2^-53, it cannot be
     * the smaller one, and its division is saved. (The left side errs by 4 (E - 1) such units, of 16 E. A weight that stands for
     * e^-epsilon makes both factors negative.) */
    if (weight > 1.0 && (weight - 1.0) * (1.0 - delta - x - x * weight) > 0x1p-49 * weight) {
        return a > key ? a : key;
    }
    /* 1 - y is exact for y in [1/2, 1], and shows whether y was rounded below 1 - x. At E = 1 both candidates are one line, x + d,
     * of which the second has an absolute error: there it only sees to it that nothing exceeds what comes above 1/2. */
    double y = weight == 1.0 ? 0.5 : 1.0 - x;
    y = dpf_number(dpf_bits(y) + (weight != 1.0 && 1.0 - y > x));
    const uint64_t c = dpf_key_below_one(dpf_shrink_up(y, weight, delta));
    const uint64_t least = a < c ? a : c;
    return least > key ? least : key;
}

/* A weight of this epsilon, at least 0 and not NaN. */
double dpf_weight(double epsilon);

#endif
