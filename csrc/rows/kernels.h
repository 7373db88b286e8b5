/* What every law has: a table of kernels for each SIMD target, and the list of cells between its two stages.
 *
 * A law answers a cell from one 64-bit word and the true code. For k <= DPF_SPLIT_MAX it does so in two stages: the 16 high bits
 * decide nearly all cells; those for which the 48 low bits matter are listed as pending and settled from words drawn for them
 * alone. Both stages together are the law, word for word.
 *
 * All functions are pure: no allocation, no state, no randomness of their own. Thread-safe: yes. */
#ifndef DPF_KERNELS_H
#define DPF_KERNELS_H

#include "dpf.h"

#define DPF_SPLIT_MAX 1024u /* largest k that is decided in two stages: beyond, whole words are faster */

/* Cells that the first stage leaves to the low bits. */
typedef struct {
    uint32_t *rows;  /* places in the column */
    uint32_t *trues; /* true codes, k for a value outside the domain */
    uint16_t *highs; /* high words */
    size_t count;
} dpf_pending_t;

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
                             const void *law, dpf_pending_t *pending);
    void (*settle[DPF_WIDTHS])(const dpf_pending_t *pending, const uint8_t *low, void *out, const void *law);
    int (*whole[DPF_WIDTHS])(const void *codes, const uint64_t *words, void *out, size_t n, const void *law);
} dpf_kernels_t;

#endif
