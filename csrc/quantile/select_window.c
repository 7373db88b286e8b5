/* Distances, weights and the walk over a window: gap, point, gap, point, ..., gap. */
#include "select_window.h"

/* For q = t / b and m = max(t, b - t): a point is too high where a = b less - t n is not negative, too low where
 * c = t n - b (less + equal) is positive. The first step of an empty place adds a value there; every other one brings the place
 * nearer by m / b. With t = 0 (the minimum) nothing is too low, and being at the lowest value is no step. */
#define DPF_DISTANCE(I)                                                                                          \
    const I t = (I)law->top, b = (I)law->bottom, m = t > b - t ? t : b - t;                                      \
    const I a = b * (I)less - t * (I)n, c = t * (I)n - b * (I)(less + equal);                                    \
    I d;                                                                                                         \
    if (equal) {                                                                                                 \
        d = a >= 0 ? a / m + 1 : c > 0 ? (c + m - 1) / m : 0;                                                    \
    } else if (a >= 0) {                                                                                         \
        d = a < t ? 1 : 2 + (a - t) / m;                                                                         \
    } else {                                                                                                     \
        d = c <= b - t ? 1 : 1 + (c - (b - t) + m - 1) / m;                                                      \
    }                                                                                                            \
    return (uint64_t)(t == 0 ? d - 1 : d);

static uint64_t distance_wide(const dpf_quantile_t *law, uint64_t n, uint64_t less, uint64_t equal) { DPF_DISTANCE(dpf_i128) }

static inline uint64_t distance_narrow(const dpf_quantile_t *law, uint64_t n, uint64_t less, uint64_t equal) {
    DPF_DISTANCE(int64_t)
}

/* The median: t = m = 1, b = 2. Without a division, which takes longer than all the rest. */
static inline uint64_t distance_median(uint64_t n, uint64_t less, uint64_t equal) {
    const int64_t a = (int64_t)(2 * less) - (int64_t)n, c = (int64_t)n - (int64_t)(2 * (less + equal));
    if (equal) return (uint64_t)(a >= 0 ? a + 1 : c > 0 ? c : 0);
    return (uint64_t)(a >= 0 ? a + 1 : c);
}

/* Of the rank r = max(1, ceil(q n)): values to be moved until the place is of rank r. */
static uint64_t distance_fixed(const dpf_quantile_t *law, uint64_t n, uint64_t less, uint64_t equal) {
    uint64_t rank = (uint64_t)(((dpf_u128)law->top * n + law->bottom - 1) / law->bottom);
    if (rank == 0) rank = 1;
    if (less >= rank) return less - rank + 1;
    return less + equal < rank ? rank - less - equal : 0;
}

uint64_t dpf_quantile_distance(const dpf_quantile_t *law, uint64_t n, uint64_t less, uint64_t equal) {
    if (law->fixed) return distance_fixed(law, n, less, equal);
    if (law->top == 1 && law->bottom == 2) return distance_median(n, less, equal);
    return law->bottom < (uint64_t)1 << 13 ? distance_narrow(law, n, less, equal) : distance_wide(law, n, less, equal);
}

/* One entry of a walk: its first grid index, its number of grid points (0: leave it out), its weight. */
typedef struct {
    int64_t first;
    uint64_t measure, distance, weight;
} entry_t;

static inline entry_t entry_at(const dpf_quantile_t *law, const dpf_window_t *window, size_t place) {
    const size_t at = place / 2; /* even places are the gap before point `at`, odd ones the point itself */
    const uint64_t less = at ? window->upto[at - 1] : window->below;
    entry_t entry;
    if (place % 2) {
        entry.first = window->points[at];
        entry.measure = 1;
        entry.distance = dpf_quantile_distance(law, window->n, less, window->upto[at] - less);
    } else {
        entry.first = at ? window->points[at - 1] + 1 : 0;
        entry.measure = (uint64_t)((at < window->size ? window->points[at] : (int64_t)law->points) - entry.first);
        entry.distance = entry.measure ? dpf_quantile_distance(law, window->n, less, 0) : 0;
    }
    entry.weight = law->weights[entry.distance < law->last ? entry.distance : law->last];
    return entry;
}

void dpf_windows_total(const dpf_quantile_t *law, const dpf_window_t *windows, size_t n, uint64_t *totals) {
    for (size_t i = 0; i < n; ++i) {
        dpf_u128 total = 0;
        for (size_t place = 0; place <= 2 * windows[i].size; ++place) {
            const entry_t entry = entry_at(law, &windows[i], place);
            total += (dpf_u128)entry.measure * entry.weight;
        }
        totals[2 * i] = (uint64_t)total;
        totals[2 * i + 1] = (uint64_t)(total >> 64);
    }
}

/* The ones from the highest bit of x down. */
static uint64_t mask_of(uint64_t x) {
    for (unsigned shift = 1; shift < 64; shift *= 2) x |= x >> shift;
    return x;
}

int dpf_window_draw(const dpf_quantile_t *law, const dpf_window_t *window, const uint64_t *total, const uint64_t *words,
                    int64_t *point) {
    const dpf_u128 sum = (dpf_u128)total[1] << 64 | total[0], most = sum - 1;
    const uint64_t high = mask_of((uint64_t)(most >> 64)), low = high ? ~(uint64_t)0 : mask_of((uint64_t)most);
    dpf_u128 target = (dpf_u128)(words[1] & high) << 64 | (words[0] & low);
    if (target >= sum) return DPF_AGAIN;
    for (size_t place = 0; place <= 2 * window->size; ++place) {
        const entry_t entry = entry_at(law, window, place);
        const dpf_u128 mass = (dpf_u128)entry.measure * entry.weight;
        if (target < mass) {
            *point = entry.first + (int64_t)(uint64_t)(target / entry.weight);
            return entry.distance >= law->last ? DPF_FAR : DPF_FOUND;
        }
        target -= mass;
    }
    return DPF_AGAIN; /* the total is not that of the window */
}
