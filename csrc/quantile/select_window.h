/* Quantiles by the exponential mechanism on dataset distance, from a window of the sorted data: totals of the integer law, and
 * the grid point that an integer below the total stands for. Many data sets (groups) at a time, each on its own.
 *
 * A window is the grid indices near the rank, each once, in ascending order, and for each how many values of the whole data set
 * lie up to it. Outside the window every grid point is at least `cap` away or beyond all data. Thread-safe: yes. */
#ifndef DPF_SELECT_WINDOW_H
#define DPF_SELECT_WINDOW_H

#include "dpf.h"

__extension__ typedef unsigned __int128 dpf_u128;
__extension__ typedef __int128 dpf_i128;

typedef struct {
    const uint64_t *weights; /* of the distances 0 .. last; larger ones count as `last`. None is zero or above 2^62. */
    uint64_t last;
    uint64_t top, bottom; /* the quantile q = top / bottom, 0 <= top <= bottom < 2^62 */
    uint64_t points;      /* of the grid, 1 .. 2^62 */
    int fixed;            /* nonzero: neighbours have the same number of values (replace one) */
} dpf_quantile_t;

typedef struct {
    const int64_t *points; /* grid indices */
    const uint64_t *upto;  /* values up to each of them */
    size_t size;           /* may be 0 */
    uint64_t below;        /* values below the first of them */
    uint64_t n;            /* values of the data set, below 2^48 */
} dpf_window_t;

/* Distance of a grid point with `less` values below it and `equal` ones on it, of n: MATHS of `quantile_levels`. */
uint64_t dpf_quantile_distance(const dpf_quantile_t *law, uint64_t n, uint64_t less, uint64_t equal);

/* What became of a draw: the integer was not below the total; a point was found; one was found whose distance is `last` or more. */
enum { DPF_AGAIN, DPF_FOUND, DPF_FAR };

/* totals[2 i], totals[2 i + 1] = low and high half of the sum of the weights of all grid points of windows[i]. */
void dpf_windows_total(const dpf_quantile_t *law, const dpf_window_t *windows, size_t n, uint64_t *totals);

/* One attempt for one window: the integer of two random words, low half first, of as many bits as the total less one has. Points
 * own as many integers as they weigh, in ascending order; the owner is written to `point`. */
int dpf_window_draw(const dpf_quantile_t *law, const dpf_window_t *window, const uint64_t *total, const uint64_t *words,
                    int64_t *point);

#endif
