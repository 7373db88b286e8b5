/* The law of any parent matrix over k categories: inverse CDF of an integer row.
 *
 * Row i of the table gives category x its words in order of x: those above tops[i][x - 1], up to and including tops[i][x]. Row k,
 * where there is one, answers codes outside the domain. A guide finds the place; see dpf_matrix_guide. */
#ifndef DPF_MATRIX_H
#define DPF_MATRIX_H

#include "kernels.h"

#define DPF_MATRIX_MAX 4096u /* the largest k */
#define DPF_GUIDE_SIZE 1024u /* entries of a row of the guide: 1000 rows come to 4 MiB */

typedef struct {
    uint32_t k;              /* categories, 1 .. DPF_MATRIX_MAX */
    uint32_t accept_unknown; /* codes >= k get row k; otherwise they are DPF_EDOMAIN */
    const uint64_t *tops;    /* k rows, or k + 1 if accept_unknown, of k */
    const uint32_t *guide;   /* as many rows of DPF_GUIDE_SIZE */
} dpf_matrix_t;

/* Make the guide of one row.
 * tops  [in]  the last word of each category, k of them, ascending, the last 2^64 - 1; categories before `first` own no word,
 *             whatever their entry
 * first [in]  the first category that owns a word
 * guide [out] DPF_GUIDE_SIZE entries. Entry j speaks of the bin of words whose high bits are j.
 *             Two stages: bits 21..30 are the category of the first word of the bin. The three places below, of 7 bits, are those
 *             among the 2^6 high words of the bin where the category changes to the next one; 127 where there is no change left;
 *             bit 31 is set when more happens than that.
 *             Whole words: the category of the first word of the bin.
 * Returns DPF_OK, or DPF_ELAW when the row is not a law. Pure and thread-safe. */
int dpf_matrix_guide(const uint64_t *tops, uint32_t k, uint32_t first, uint32_t *guide);

extern const dpf_kernels_t dpf_matrix_base;
#if defined(__x86_64__)
extern const dpf_kernels_t dpf_matrix_avx2;
extern const dpf_kernels_t dpf_matrix_avx512;
#endif

#endif
