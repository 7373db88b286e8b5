#include "edges.h"

#include "law.h"

static double delta_of(const dpf_graph_t *graph, int64_t arc)
{
    return graph->deltas == NULL ? 0.0 : graph->deltas[arc];
}

/* p(w) <= U(p(v)), or what says the same, 1 - p(v) <= U(1 - p(w)): what one rounding leaves open the other may prove. */
static int proved(uint64_t v, uint64_t w, double weight, double delta)
{
    return w <= v || w <= dpf_step(v, weight, delta) || DPF_KEY_ONE - v <= dpf_step(DPF_KEY_ONE - w, weight, delta);
}

void dpf_boundary(const dpf_graph_t *graph, int64_t start, int64_t stop, uint8_t *is_boundary)
{
    for (int64_t v = start; v < stop; v++) {
        is_boundary[v] = 0;
        for (int64_t i = graph->indptr[v]; i < graph->indptr[v + 1]; i++) {
            if (graph->colours[graph->indices[i]] != graph->colours[v]) {
                is_boundary[v] = 1;
                break;
            }
        }
    }
}

void dpf_cross(const dpf_graph_t *graph, const uint8_t *is_given, const uint64_t *given, int64_t start, int64_t stop, uint64_t *words,
               uint8_t *missing)
{
    for (int64_t v = start; v < stop; v++) {
        missing[v] = 0;
        for (int64_t i = graph->indptr[v]; i < graph->indptr[v + 1]; i++) {
            const int32_t other = graph->indices[i];
            if (graph->colours[other] == graph->colours[v]) {
                continue;
            }
            if (!is_given[other]) {
                missing[v] |= !is_given[v];
                continue;
            }
            const uint64_t source = DPF_KEY_ONE - given[other];
            if (is_given[v] && (graph->colours[v] == 2 || proved(source, given[v], graph->weights[i], delta_of(graph, i)))) {
                continue;
            }
            const uint64_t bound = dpf_step(source, graph->weights[i], delta_of(graph, i));
            words[v] = bound < words[v] ? bound : words[v];
        }
    }
}

int64_t dpf_unproved(const dpf_graph_t *graph, const uint64_t *keys, int64_t *row, int64_t *at, int64_t stop, int64_t *open,
                     int64_t capacity)
{
    int64_t filled = 0;
    for (; *row < stop; ++*row) {
        for (; *at < graph->indptr[*row + 1]; ++*at) {
            if (proved(keys[*row], keys[graph->indices[*at]], graph->weights[*at], delta_of(graph, *at))) {
                continue;
            }
            if (filled == capacity) {
                return filled;
            }
            open[filled++] = *at;
        }
    }
    return filled;
}

void dpf_steps(const uint64_t *keys, const double *weights, const double *deltas, int64_t n, uint64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = dpf_step(keys[i], weights[i], deltas[i]);
    }
}

uint64_t dpf_along(uint64_t key, const double *weights, const double *deltas, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        key = dpf_step(key, weights[i], deltas[i]);
    }
    return key;
}
