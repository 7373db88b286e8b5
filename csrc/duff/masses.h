/* Masses measure * weight as integers of 128 bits, low word first: their sum, and where in the running sum a number falls. */
#ifndef DPF_DUFF_MASSES_H
#define DPF_DUFF_MASSES_H

#include "dpf.h"

/* sum += all masses. The caller knows that it stays below 2^128. */
void dpf_masses_total(const int64_t *measures, const uint64_t *weights, size_t n, uint64_t sum[2]);

/* For ascending targets: the entry within which each falls, and how far. `sum` is what came before entry base, and what came
   before the entry after the last one read on return. Returns how many targets were found. */
size_t dpf_masses_find(const int64_t *measures, const uint64_t *weights, size_t n, uint64_t base, uint64_t sum[2],
                       const uint64_t *targets, size_t n_targets, uint64_t *entries, uint64_t *rests);

#endif
