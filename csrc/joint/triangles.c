#include "triangles.h"

#define DONE (-1) /* in place of a number of shared neighbours */

static int64_t degree(const dpf_graph *graph, size_t i) { return graph->offsets[i + 1] - graph->offsets[i]; }

/* Stamp the neighbours of i with i + 1, which no other vertex uses. */
static void mark(const dpf_graph *graph, size_t i) {
    for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; ++e)
        graph->marks[graph->around[e]] = (uint32_t)i + 1;
}

uint64_t dpf_triangles(const dpf_graph *graph, size_t start, size_t stop) {
    uint64_t count = 0;
    for (size_t i = start; i < stop; ++i) {
        mark(graph, i);
        for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1] && (size_t)graph->around[e] < i; ++e) {
            const size_t j = (size_t)graph->around[e];
            for (int64_t f = graph->offsets[j]; f < graph->offsets[j + 1] && (size_t)graph->around[f] < j; ++f)
                count += graph->marks[graph->around[f]] == (uint32_t)i + 1;
        }
    }
    return count;
}

static void raise_stairs(int64_t *stairs, int64_t a, int64_t b) {
    for (; a >= 0 && stairs[a] < b; --a)
        stairs[a] = b;
}

/* A pair with 1 <= a <= most common neighbours, of degrees d_i and d, has b <= d_i + d - 2 a: below this d it changes no stair. */
static int64_t least_degree(const int64_t *stairs, size_t n_stairs, int64_t d_i, int64_t most) {
    int64_t least = INT64_MAX;
    for (int64_t a = 1; a <= most && (size_t)a < n_stairs; ++a) {
        const int64_t sum = stairs[a] + 1 + 2 * a;
        least = sum < least ? sum : least;
    }
    return least == INT64_MAX ? least : least - d_i;
}

/* Of the neighbours of i, those before the place that is returned are heavy. */
static int64_t end_of_heavy(const dpf_graph *graph, size_t i) {
    int64_t e = graph->offsets[i];
    while (e < graph->offsets[i + 1] && (size_t)graph->around[e] < graph->n_heavy) ++e;
    return e;
}

/* Count in `shared` for each j < i the neighbours it shares with i, of those of i at the places first .. last - 1; j of small degree and
 * those that are DONE are left out. New ones are appended to `touched`. */
static size_t count_shared(const dpf_graph *graph, size_t i, int64_t first, int64_t last, int64_t least, size_t n_touched) {
    for (int64_t e = first; e < last; ++e) {
        const size_t k = (size_t)graph->around[e];
        /* Neighbours are in order of falling degree, so the first that is too small ends a list, the same for all lists. */
        for (int64_t f = graph->offsets[k]; f < graph->offsets[k + 1]; ++f) {
            const size_t j = (size_t)graph->around[f];
            if (j >= i || degree(graph, j) < least)
                break;
            if (graph->spared[j] || graph->shared[j] == DONE)
                continue;
            if (graph->shared[j]++ == 0)
                graph->touched[n_touched++] = (int32_t)j;
        }
    }
    return n_touched;
}

/* The pairs of i, whose neighbours are marked, and touched[first .. last - 1], all of whose common neighbours are counted. */
static void raise_touched(const dpf_graph *graph, int64_t *stairs, size_t i, size_t first, size_t last) {
    for (size_t t = first; t < last; ++t) {
        const size_t j = (size_t)graph->touched[t];
        const int64_t a = graph->shared[j], adjacent = graph->marks[j] == (uint32_t)i + 1;
        raise_stairs(stairs, a, degree(graph, i) + degree(graph, j) - 2 * a - 2 * adjacent);
        graph->shared[j] = DONE;
    }
}

void dpf_triangle_stairs(const dpf_graph *graph, int64_t *stairs, size_t n_stairs, size_t start, size_t stop) {
    for (size_t i = start; i < stop; ++i) {
        if (graph->spared[i])
            continue;
        const int64_t d_i = degree(graph, i), begin = graph->offsets[i], end = graph->offsets[i + 1], heavy = end_of_heavy(graph, i);
        mark(graph, i);
        /* First who shares a neighbour that is not heavy; what they share beside is looked up in their own lists. */
        const size_t met = count_shared(graph, i, heavy, end, least_degree(stairs, n_stairs, d_i, d_i), 0);
        for (size_t t = 0; heavy > begin && t < met; ++t) {
            const size_t j = (size_t)graph->touched[t];
            for (int64_t e = graph->offsets[j]; e < graph->offsets[j + 1] && (size_t)graph->around[e] < graph->n_heavy; ++e)
                graph->shared[j] += graph->marks[graph->around[e]] == (uint32_t)i + 1;
        }
        raise_touched(graph, stairs, i, 0, met);
        /* Then who shares heavy ones only. They are few, so that those of small degree mostly cannot matter. */
        const size_t all = count_shared(graph, i, begin, heavy, least_degree(stairs, n_stairs, d_i, heavy - begin), met);
        raise_touched(graph, stairs, i, met, all);
        for (size_t t = 0; t < all; ++t) graph->shared[graph->touched[t]] = 0;
    }
}

int dpf_triangle_strangers(const dpf_graph *graph, int64_t *stairs, size_t start, size_t stop) {
    for (size_t i = start; i < stop; ++i) {
        const int64_t d_i = degree(graph, i);
        if (i + 1 >= graph->n || d_i + degree(graph, i + 1) <= stairs[0])
            return 0;
        if (graph->spared[i])
            continue;
        mark(graph, i);
        for (size_t j = i + 1; j < graph->n && d_i + degree(graph, j) > stairs[0]; ++j) {
            if (graph->spared[j])
                continue;
            int64_t f = graph->offsets[j];
            while (f < graph->offsets[j + 1] && graph->marks[graph->around[f]] != (uint32_t)i + 1)
                ++f;
            if (f == graph->offsets[j + 1])
                raise_stairs(stairs, 0, d_i + degree(graph, j) - 2 * (graph->marks[j] == (uint32_t)i + 1));
        }
    }
    return 1;
}
