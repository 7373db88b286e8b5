/* Pairs of vertices of a simple graph by how many neighbours they share, and triangles. */
#ifndef DPF_TRIANGLES_H
#define DPF_TRIANGLES_H

#include "dpf.h"

/* Vertices are numbered from the one of highest degree on; the neighbours of i are around[offsets[i]] up to around[offsets[i + 1]],
 * ascending. Room for n entries: `marks` (zeroed) and `shared` (zeroed), `touched`. */
typedef struct {
    const int64_t *offsets;
    const int32_t *around;
    size_t n;
    size_t n_heavy; /* the vertices below it are heavy: any number gives the same result, in other times */
    uint32_t *marks;
    int32_t *shared;
    int32_t *touched;
    const uint8_t *spared; /* nonzero: two others have the same neighbours, so pairs with this vertex tell nothing new */
} dpf_graph;

/* Triangles of which vertex i, start <= i < stop, has the highest number. */
uint64_t dpf_triangles(const dpf_graph *graph, size_t start, size_t stop);

/* stairs[a] = the largest b of all pairs with at least a common neighbours, b = vertices next to exactly one of the pair, itself apart;
 * -1 where there is none. On the first call all are -1; `n_stairs` is above the largest degree.
 * Looks at the pairs {i, j < i}, start <= i < stop, that have a common neighbour and may change something. */
void dpf_triangle_stairs(const dpf_graph *graph, int64_t *stairs, size_t n_stairs, size_t start, size_t stop);

/* The same for the pairs {i, j > i} without a common neighbour, after all others; returns 0 when no pair of a later i can matter. */
int dpf_triangle_strangers(const dpf_graph *graph, int64_t *stairs, size_t start, size_t stop);

#endif
