/* The k-ary response law: integers that decide a cell from one 64-bit word, and kernels that apply them to columns.
 *
 * A word w < k*t gives category w / t; any other word keeps the true code. Where all rows of the table are one row (uniform),
 * and for a code outside the domain, category x owns floor(2^64/k) words, plus one if x < 2^64 mod k, in order.
 *
 * Its two stages, and the kernels, are described in kernels.h. */
#ifndef DPF_RESPONSE_H
#define DPF_RESPONSE_H

#include "kernels.h"

typedef struct {
    uint32_t k;              /* categories, 1 .. 2^31 */
    uint32_t uniform;        /* every row of the table is the uniform row */
    uint32_t accept_unknown; /* codes >= k get the uniform row; otherwise they are DPF_EDOMAIN */
    /* the law over 64-bit words */
    uint64_t step;          /* t; 0: every word keeps */
    uint64_t step_inverse;  /* floor((2^64 - 1) / t), 0 for t = 0 */
    uint64_t redraw_last;   /* k*t - 1: the last word that redraws, 0 for t = 0 */
    uint64_t share;         /* U = floor(2^64 / k), the words of a category in the uniform row (k >= 2) */
    uint64_t share_inverse; /* floor((2^64 - 1) / U) */
    uint64_t wide_inverse;  /* floor((2^64 - 1) / (U + 1)) */
    uint64_t wide_words;    /* r * (U + 1): the words of the r = 2^64 mod k categories that own U + 1 */
    uint32_t wide;          /* r */
    /* the first stage, over the 16 high bits h of a word: p = (h * multiplier) >> 16 is the place of h on the scale of
     * categories with `shift` fractional bits; see dpf_response_prepare */
    uint16_t zone_last;  /* h > zone_last: every word that begins with h keeps */
    uint16_t multiplier; /* */
    uint16_t shift;      /* */
    uint16_t raise;      /* 2^(16 - shift): p * raise mod 2^16 is the fraction, at the top of 16 bits */
    uint16_t margin;     /* fractions below margin ... */
    uint16_t decided;    /* ... or from margin + decided on may straddle two categories */
} dpf_response_t;

/* Prepare a law. Pure and thread-safe.
 * k              [in]  1 .. 2^31
 * step           [in]  t with k*t <= 2^64; not looked at for a uniform table
 * uniform        [in]  nonzero: all rows of the table are the uniform row (always so for k = 1)
 * accept_unknown [in]  nonzero: codes >= k are answered from the uniform row
 * law            [out]
 * Returns DPF_OK or DPF_ELAW. */
int dpf_response_prepare(uint32_t k, uint64_t step, int uniform, int accept_unknown, dpf_response_t *law);

extern const dpf_kernels_t dpf_response_base;
#if defined(__x86_64__)
extern const dpf_kernels_t dpf_response_avx2;
extern const dpf_kernels_t dpf_response_avx512;
#endif

#endif
