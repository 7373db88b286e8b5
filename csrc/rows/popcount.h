/* One bits in runs of a bit string: how many of n rows fall into the upper half of an interval of words.
 * Thread-safe: yes. */
#ifndef DPF_POPCOUNT_H
#define DPF_POPCOUNT_H

#include "dpf.h"

/* ones[i] += the number of one bits in run i, for as many runs as `size` bits hold. Runs follow one another from bit `first` on;
 * bit j of the string is bit j mod 8, from the lowest, of byte j / 8. Of run 0 the first `skip` bits were counted before, and
 * of the last one what is past the end is left out. No other bit is looked at.
 * bits    [in] at least (first + size + 7) / 8 bytes
 * lengths [in] n, none negative;   ones [in, out] n
 * Returns how many runs are counted to their end. */
size_t dpf_count_ones(const uint8_t *bits, uint64_t first, uint64_t size, const int64_t *lengths, size_t n, uint64_t skip,
                      int64_t *ones);

#endif
