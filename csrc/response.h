/* The k-ary response law: integers that decide a cell from one 64-bit word, and kernels that apply them to columns.
 *
 * A word w < k*t gives category w / t; any other word keeps the true code. Where all rows of the table are one row (uniform),
 * and for a code outside the domain, category x owns floor(2^64/k) words, plus one if x < 2^64 mod k, in order.
 *
 * For k <= DPF_SPLIT_MAX a cell is decided in two stages: the 16 high bits of w decide nearly all cells; those for which the
 * 48 low bits matter are listed as pending and settled from words drawn for them alone. Both stages together are the law
 * above, word for word.
 *
 * All functions are pure: no allocation, no state, no randomness of their own. Thread-safe: yes. */
#ifndef DPF_RESPONSE_H
#define DPF_RESPONSE_H

#include "dpf.h"

#define DPF_SPLIT_MAX 1024u /* largest k that is decided in two stages: beyond, whole words are faster */

/* Cells that the first stage leaves to the low bits. */
typedef struct {
    uint32_t *rows;  /* places in the column */
    uint32_t *trues; /* true codes, k for a value outside the domain */
    uint16_t *highs; /* high words */
    size_t count;
} dpf_pending_t;

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

/* Prepare a law.
 * k              [in]  1 .. 2^31
 * step           [in]  t with k*t <= 2^64; not looked at for a uniform table
 * uniform        [in]  nonzero: all rows of the table are the uniform row (always so for k = 1)
 * accept_unknown [in]  nonzero: codes >= k are answered from the uniform row
 * law            [out]
 * Returns DPF_OK or DPF_ELAW. */
int dpf_response_prepare(uint32_t k, uint64_t step, int uniform, int accept_unknown, dpf_response_t *law);

/* Code widths: uint8_t, uint16_t, uint32_t. */
enum { DPF_U8, DPF_U16, DPF_U32, DPF_WIDTHS };

/* The kernels of one SIMD target, each for the three code widths; `codes` and `out` are arrays of that width.
 *
 * first(codes, high, out, n, base, law, pending): first stage, k <= DPF_SPLIT_MAX only.
 *   codes   [in]  n true codes                    high [in] n high words
 *   out     [out] n sanitised codes, 0 where pending; may equal codes
 *   base    [in]  row number of codes[0]
 *   pending [in, out] the pending cells are added: row number, true code (k if unknown), high word; room for n more
 * settle(pending, low, out, law): second stage; low = 16 bytes a pending cell, of which the first six, little-endian, are its
 *   low bits; out [out] the column that the row numbers count in.
 * whole(codes, words, out, n, law): one stage from whole words; out may equal codes.
 *
 * first and whole return DPF_OK, or DPF_EDOMAIN when a code is outside the domain and not accepted (the rest of out is still
 * well defined: such cells are 0). */
typedef struct {
    int (*first[DPF_WIDTHS])(const void *codes, const uint16_t *high, void *out, size_t n, uint32_t base,
                             const dpf_response_t *law, dpf_pending_t *pending);
    void (*settle[DPF_WIDTHS])(const dpf_pending_t *pending, const uint8_t *low, void *out, const dpf_response_t *law);
    int (*whole[DPF_WIDTHS])(const void *codes, const uint64_t *words, void *out, size_t n, const dpf_response_t *law);
} dpf_response_kernels_t;

extern const dpf_response_kernels_t dpf_response_base;
#if defined(__x86_64__)
extern const dpf_response_kernels_t dpf_response_avx2;
extern const dpf_response_kernels_t dpf_response_avx512;
#endif

#endif
