/* Blocks of log-weights: the largest of each, and a number not below the sum of e^(x - largest). */
#ifndef DPF_DUFF_BLOCKS_H
#define DPF_DUFF_BLOCKS_H

#include "dpf.h"

enum { DPF_BLOCK = 1024 };

/* n log-weights in ceil(n / DPF_BLOCK) blocks. A block of minus infinities has the sum 0. DPF_ELAW on NaN or plus infinity.
   A sum lies above the true one, by less than a part of 2^-13 of itself; it is the same on every processor, and
   with plain != 0, which leaves wide registers alone. */
int dpf_blocks(const double *x, size_t n, double *maxima, double *sums, int plain);

#endif
