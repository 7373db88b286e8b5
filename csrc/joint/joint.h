/* The joint law of several quantiles: sums over all ways to place them, by rows of cells. */
#ifndef DPF_JOINT_H
#define DPF_JOINT_H

#include "dpf.h"
#include "joint_wide.h"

/* Powers of a ratio r in (0, 1]: low[k] = r^k for k = 0 .. span, high[k] = r^(span k), each right to two roundings. */
typedef struct {
    double ratio;
    size_t span;
    dpf_wide *low;
    size_t n_high;
    dpf_wide *high;
} dpf_joint_powers;

void dpf_joint_fill_powers(dpf_joint_powers *powers);

/* One row: from the weights before[i'] of n cells the sums
 *     after[i] = sum over i' < i of before[i'] * r^|i - i' - t|,    t = whole + fraction,
 * r^fraction = near, r^(1 - fraction) = far. Only sums of numbers that are not negative are formed.
 * `scratch` has span entries, `totals` n / span + 2; the rest is the place where the next piece begins, zeroed at first. */
typedef struct {
    const dpf_joint_powers *powers;
    const dpf_wide *before;
    dpf_wide *after;
    size_t n;
    size_t whole;
    double near;
    double far;
    dpf_wide *scratch;
    dpf_wide *totals;
    size_t at;
    dpf_wide decayed;  /* sum of r^(p - i') before[i'] over the block of p so far, p the last cell of the far part */
    dpf_wide carried;  /* the same for all blocks before it, at their end */
    dpf_wide prefix;   /* sum of r^(i' - start) before[i'] over the block of i - 1 so far */
    dpf_wide middle;   /* the whole blocks between the first and the last of the window, from the start of the first on */
    dpf_wide offset;   /* r to the distance between the starts of the block after the first and the last one */
} dpf_joint_row;

/* The first row: after[i] = r^|i - t| for i from `start` to `stop`. */
void dpf_joint_first(const dpf_joint_powers *powers, size_t whole, double near, double far, dpf_wide *after, size_t start,
                     size_t stop);

/* Go on with a row up to cell `stop` <= n. Thread-safe: yes, for rows of different scratch. */
void dpf_joint_advance(dpf_joint_row *row, size_t stop);

#define DPF_JOINT_BLOCK 1024 /* cells that share a mark of `crowded` */

/* weights[i] = widths[i] * sums[j][i], plus the placements of several quantiles in one cell: the k last of the j + 1 ones in cell i
 * weigh widths[i]^k / k! * (product of the k - 1 last `stays`) * sums[j - k + 1][i]. What is below 2^-64 of the whole may be left out.
 * sums    [in] j + 1 rows of n    stays [in] j + 1 numbers r^(t of the quantile); the first is not used
 * before  [in] the weights of row j - 1, or NULL: as marked        weights [out] cells from `start` to `stop`
 * crowded [in, out] a mark for each block where several in one cell matter; set with `before`, read without */
void dpf_joint_weights(const double *widths, const dpf_wide *const *sums, const dpf_wide *stays, size_t j, const dpf_wide *before,
                       dpf_wide *weights, uint8_t *crowded, size_t start, size_t stop);

/* out[b - first] = sum over the cells i' of block b (`size` cells each, those below `stop`) of weights[i'] * r^|ahead - i' - t|, for the
 * blocks from `first` to `last`; stop <= ahead. */
void dpf_joint_block_sums(const dpf_joint_powers *powers, const dpf_wide *weights, size_t ahead, size_t stop, size_t whole,
                          double near, double far, size_t size, size_t first, size_t last, dpf_wide *out);

#endif
