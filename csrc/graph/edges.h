/* Passes over all arcs: the boundary of a query, bounds that cross it, and the proof that every edge holds. In pieces of rows. */
#ifndef DPF_EDGES_H
#define DPF_EDGES_H

#include "model.h"

/* is_boundary[v] = 1 where some neighbour of v has another colour, for start <= v < stop. */
void dpf_boundary(const dpf_graph_t *graph, int64_t start, int64_t stop, uint8_t *is_boundary);

/* Lower words[v], start <= v < stop, by what vertices of the other colour with a given value allow.
 *
 * Keys are of Pr[the right answer at v]; colour 1 or 2 is the right answer. is_given and given are the fixed vertices and their keys.
 * Where both ends of an arc are given, the end of colour 1 takes the bound, unless the law proves that it meets the real one as it is;
 * where neither is, missing[v] = 1. */
void dpf_cross(const dpf_graph_t *graph, const uint8_t *is_given, const uint64_t *given, int64_t start, int64_t stop, uint64_t *words,
               uint8_t *missing);

/* Find arcs v -> w, from arc *at on and in rows *row <= v < stop, for which the law does not prove p(w) <= U(p(v)); in the reals such
 * an arc may hold or not. Returns how many places of `open` were filled; *row is the row to go on with, at arc *at of all. */
int64_t dpf_unproved(const dpf_graph_t *graph, const uint64_t *keys, int64_t *row, int64_t *at, int64_t stop, int64_t *open,
                     int64_t capacity);

/* dpf_step of n keys. */
void dpf_steps(const uint64_t *keys, const double *weights, const double *deltas, int64_t n, uint64_t *out);

/* What a key allows at the end of a path of n edges. */
uint64_t dpf_along(uint64_t key, const double *weights, const double *deltas, int64_t n);

#endif
