/* Values by group: to grid indices, together by group, and of each group the window around a rank, in order.
 * Thread-safe: yes, on disjoint outputs. */
#ifndef DPF_GROUPS_H
#define DPF_GROUPS_H

#include "dpf.h"

/* Floats to grid indices on a grid whose step is a power of two: out[i] = index of the point nearest to values[i], halves up,
 * clipped to 0 .. last - first. NaN becomes the largest number, which is no index, and counts in the result.
 * scale  1 / step, exactly;   first, last  the grid is first * step .. last * step, both below 2^30 in size
 * plain  nonzero: without vector instructions beyond the base target; the result is the same */
size_t dpf_snap_f64(const double *values, size_t n, double scale, int32_t first, int32_t last, uint32_t *out, int plain);
size_t dpf_snap_f32(const float *values, size_t n, double scale, int32_t first, int32_t last, uint32_t *out, int plain);

/* codes[i] = table[values[i] - least] where that is inside the table of `size` entries, else `other`. */
void dpf_code_i64(const int64_t *values, size_t n, int64_t least, const uint32_t *table, size_t size, uint32_t other,
                  uint32_t *codes);
void dpf_code_i32(const int32_t *values, size_t n, int64_t least, const uint32_t *table, size_t size, uint32_t other,
                  uint32_t *codes);

/* counts[codes[i]] += 1; every code must be below the number of counters. */
void dpf_group_count(const uint32_t *codes, size_t n, uint64_t *counts);

/* out[next[codes[i]]++] = values[i], in order of i. */
void dpf_group_scatter_u32(const uint32_t *codes, const uint32_t *values, size_t n, uint64_t *next, uint32_t *out);
void dpf_group_scatter_i64(const uint32_t *codes, const int64_t *values, size_t n, uint64_t *next, int64_t *out);

/* The same in two steps, for many groups: rows go to buckets of 2^shift codes, together with their codes, and those of a bucket
 * to their groups. Both steps write to few places at a time.
 * spread: out[next[codes[i] >> shift]++] = codes[i] above 32 bits of values[i];   settle: out[next[code]++] = value */
void dpf_group_spread(const uint32_t *codes, const uint32_t *values, size_t n, unsigned shift, uint64_t *next, uint64_t *out);
void dpf_group_settle(const uint64_t *pairs, size_t n, uint64_t *next, uint32_t *out);

/* The window of one group: brings values[first .. last) to the places they have in sorted order, then writes each different value
 * among them to `points`, and to `upto` how many of all n values lie up to it (also those equal to it outside the window).
 * Returns the number of different values; `below` is how many lie below the first of them.
 * values  [in, out] n, reordered;   first <= last <= n;   points, upto  [out] room for last - first */
size_t dpf_group_window_u32(uint32_t *values, size_t n, size_t first, size_t last, int64_t *points, uint64_t *upto,
                            uint64_t *below);
size_t dpf_group_window_i64(int64_t *values, size_t n, size_t first, size_t last, int64_t *points, uint64_t *upto,
                            uint64_t *below);

#endif
