/* Order statistics without a sort: one pass counts values up to limits and keeps the few between two of them.
 * Thread-safe: yes. */
#ifndef DPF_SELECT_H
#define DPF_SELECT_H

#include "dpf.h"

/* Number of a type of values. */
enum { DPF_I8, DPF_I16, DPF_I32, DPF_I64, DPF_U8, DPF_U16, DPF_U32, DPF_U64, DPF_F32, DPF_F64, DPF_TYPES };

/* What a pass counts: values up to the first limit, to the second, to the last; values that are numbers; values kept. */
enum { DPF_UPTO_FIRST, DPF_UPTO_SECOND, DPF_UPTO_LAST, DPF_NUMBERS, DPF_KEPT, DPF_COUNTS };

enum { DPF_LIMITS = 4 };

/* Adds to the counts of the first four kinds; appends the values in (limits[1], limits[2]] to `kept`, in their order, from place
 * counts[DPF_KEPT] on, and counts them there.
 * limits  [in] DPF_LIMITS of the type, the first not above the second, which is not above the last; a limit that is NaN has no
 *         value up to it, and NaN is up to no limit
 * kept    [out] of the type, with room for n more
 * counts  [in, out] DPF_COUNTS
 * plain   nonzero: without vector instructions beyond the base target; the result is the same */
void dpf_scan(int type, const void *values, size_t n, const void *limits, void *kept, uint64_t *counts, int plain);

#endif
