/* The graph as arrays, and how it is built: a counting sort by one end, then by the other, in pieces of edges or of rows.
 *
 * Rows are sorted by target. Of parallel edges those stay that no other one implies, by ascending epsilon. Every function here
 * is thread-safe; arrays do not overlap.
 */
#ifndef DPF_MODEL_H
#define DPF_MODEL_H

#include "dpf.h"

typedef struct {
    int64_t n_vertices;
    const int64_t *indptr;   /* n_vertices + 1 */
    const int32_t *indices;  /* targets of the arcs */
    const double *weights;   /* see law.h */
    const double *deltas;    /* NULL: all are 0 */
    const uint8_t *colours;  /* NULL, or arcs between vertices of two colours are not followed */
} dpf_graph_t;

/* What is wrong with an edge. */
enum { DPF_EDGE_RIGHT = 0, DPF_EDGE_VERTEX = 1, DPF_EDGE_EPSILON = 2, DPF_EDGE_DELTA = 3 };

/* Add to counts[v + 1] the arcs that leave v, for edges start <= i < stop. Returns DPF_EDGE_RIGHT, or what is wrong with edge *bad.
 * An edge is left out if it is a loop or states nothing (epsilon infinite or delta >= 1). deltas may be NULL. */
int dpf_edges_count(const int32_t *u, const int32_t *v, const double *epsilons, const double *deltas, int64_t start, int64_t stop,
                    int64_t n_vertices, int64_t *counts, int64_t *bad);

/* Put both arcs of edges start <= i < stop at the places cursors[v], which move on. */
void dpf_edges_scatter(const int32_t *u, const int32_t *v, const double *epsilons, const double *deltas, int64_t start,
                       int64_t stop, int64_t *cursors, int32_t *indices, double *arc_epsilons, double *arc_deltas);

/* Put the arcs of rows start <= v < stop into the rows of their targets, at cursors, which move on: with every arc there is its
 * reverse, so this sorts rows by target. */
void dpf_rows_transpose(const int64_t *indptr, const int32_t *indices, const double *epsilons, const double *deltas, int64_t start,
                        int64_t stop, int64_t *cursors, int32_t *new_indices, double *new_epsilons, double *new_deltas);

/* Drop implied parallel arcs of rows start <= v < stop. The rows move to *filled on, in place, and indptr[start + 1 .. stop] becomes
 * the ends of the new rows; *begin is the old start of row `start` and moves on. */
void dpf_rows_merge(int64_t *indptr, int32_t *indices, double *epsilons, double *deltas, int64_t start, int64_t stop, int64_t *begin,
                    int64_t *filled);

/* The weights of n epsilons. */
void dpf_weights(const double *epsilons, int64_t n, double *weights);

#endif
