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

/* counts[codes[i] >> shift] += 1; every code has its counter. */
void dpf_group_count(const uint32_t *codes, size_t n, unsigned shift, uint64_t *counts);

/* out[next[codes[i]]++] = values[i], in order of i. */
void dpf_group_scatter_u32(const uint32_t *codes, const uint32_t *values, size_t n, uint64_t *next, uint32_t *out);
void dpf_group_scatter_i64(const uint32_t *codes, const int64_t *values, size_t n, uint64_t *next, int64_t *out);

/* For many groups the same in two steps, the second of which stays in cache: rows go to buckets of 2^shift codes, as keys of the low
 * `shift` bits of the code above `bits` bits of the value, shift + bits <= 32; then the keys of each bucket are sorted.
 *
 * spread: out[next[codes[i] >> shift]++] = key of codes[i] and values[i] */
void dpf_group_spread(const uint32_t *codes, const uint32_t *values, size_t n, unsigned shift, unsigned bits, uint64_t *next,
                      uint32_t *out);

/* order: sorts the n < 2^32 keys of a bucket and leaves of each its value. The largest value of `bits` bits stands for none: those
 * end each group and do not count in its size.
 * keys  [in, out];   spare  room for n;   bits >= 1, code_bits <= DPF_DIGIT
 * ends, sizes  [out] 2^code_bits: where the values of each code end, and how many there are */
#define DPF_DIGIT 11
void dpf_group_order(uint32_t *keys, size_t n, unsigned bits, unsigned code_bits, uint32_t *spare, uint32_t *ends,
                     uint64_t *sizes);

/* The window of one group: brings values[first .. last) to the places they have in sorted order, then writes each different value
 * among them to `points`, and to `upto` how many of all n values lie up to it (also those equal to it outside the window).
 * Returns the number of different values; `below` is how many lie below the first of them.
 * values  [in, out] n, reordered;   first <= last <= n;   points, upto  [out] room for last - first */
size_t dpf_group_window_u32(uint32_t *values, size_t n, size_t first, size_t last, int64_t *points, uint64_t *upto,
                            uint64_t *below);
size_t dpf_group_window_i64(int64_t *values, size_t n, size_t first, size_t last, int64_t *points, uint64_t *upto,
                            uint64_t *below);

#endif
