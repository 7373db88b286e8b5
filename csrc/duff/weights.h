/* The integer weight table of Duff: w_0 = 2^62, w_{k+1} = ceil(w_k rho), rho = 1 - decay / 2^64. */
#ifndef DPF_DUFF_WEIGHTS_H
#define DPF_DUFF_WEIGHTS_H

#include "dpf.h"

/* The weight `steps` steps after w. */
uint64_t dpf_weights_skip(uint64_t w, uint64_t decay, uint64_t steps);

/* The n weights after w, in order; returns the last of them (w for n = 0). */
uint64_t dpf_weights_fill(uint64_t w, uint64_t decay, uint64_t *out, size_t n);

#endif
