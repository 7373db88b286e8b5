#include "triangles.h"

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

/* A pair with a >= 1 common neighbours, of degrees d_i and d, has b <= d_i + d - 2 a: below this d it changes no stair. */
static int64_t least_degree(const int64_t *stairs, size_t n_stairs, int64_t d_i) {
    int64_t least = INT64_MAX;
    for (int64_t a = 1; a <= d_i && (size_t)a < n_stairs; ++a) {
        const int64_t sum = stairs[a] + 1 + 2 * a;
        least = sum < least ? sum : least;
    }
    return least == INT64_MAX ? least : least - d_i;
}

void dpf_triangle_stairs(const dpf_graph *graph, int64_t *stairs, size_t n_stairs, size_t start, size_t stop) {
    for (size_t i = start; i < stop; ++i) {
        if (graph->spared[i])
            continue;
        const int64_t d_i = degree(graph, i), least = least_degree(stairs, n_stairs, d_i);
        size_t n_touched = 0;
        /* Neighbours are in order of falling degree, so the first that is too small ends a list, the same for all lists. */
        for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; ++e) {
            const size_t k = (size_t)graph->around[e];
            for (int64_t f = graph->offsets[k]; f < graph->offsets[k + 1]; ++f) {
                const size_t j = (size_t)graph->around[f];
                if (j >= i || degree(graph, j) < least)
                    break;
                if (graph->spared[j])
                    continue;
                if (graph->shared[j]++ == 0)
                    graph->touched[n_touched++] = (int32_t)j;
            }
        }
        if (n_touched == 0)
            continue;
        mark(graph, i);
        for (size_t t = 0; t < n_touched; ++t) {
            const size_t j = (size_t)graph->touched[t];
            const int64_t a = graph->shared[j], adjacent = graph->marks[j] == (uint32_t)i + 1;
            raise_stairs(stairs, a, d_i + degree(graph, j) - 2 * a - 2 * adjacent);
            graph->shared[j] = 0;
        }
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
