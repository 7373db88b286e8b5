/* The race of exponential variates: the entry of the least E / mass wins, E = -ln(1 - U), U uniform on [0, 1).

   Only the first 64 bits of each U are read here. They say in which interval a key lies; entries whose interval reaches below
   the least upper end are kept as candidates, and who wins among them is for exact arithmetic on more bits to say. */
#ifndef DPF_DUFF_RACE_H
#define DPF_DUFF_RACE_H

#include "dpf.h"

typedef struct {
    double best;       /* no winner has a key above it; infinity at the start */
    uint64_t *entries; /* candidates, and the lower ends of their keys */
    double *keys;
    size_t count;
    size_t capacity;
} dpf_race_t;

/* Entries base .. base + n - 1 of mass measure * weight; an entry of mass 0 takes no part. Returns how many were read: fewer
   than n when the room for candidates is used up. */
size_t dpf_race_masses(const int64_t *measures, const uint64_t *weights, const uint64_t *words, size_t n, uint64_t base,
                       dpf_race_t *race);

/* The same for masses e^log with log <= 700, keys ln E - log; minus infinity takes no part. A log may be off by 2^-45 (16 + |log|). */
size_t dpf_race_logs(const double *logs, const uint64_t *words, size_t n, uint64_t base, dpf_race_t *race);

/* Forget candidates that the best key has overtaken. */
void dpf_race_prune(dpf_race_t *race);

/* E of the middle of the interval of a word, and by which part of itself E can differ within it; and ln x of a normal x > 0.
   Both are off by less than 2^-47 of themselves. */
double dpf_exponential(uint64_t word, double *spread);
double dpf_ln(double x);

#endif
