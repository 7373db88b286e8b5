#include "model.h"

#include <math.h>

#include "law.h"

static int left_out(int32_t u, int32_t v, double epsilon, double delta)
{
    return u == v || epsilon == INFINITY || delta >= 1.0;
}

int dpf_edges_count(const int32_t *u, const int32_t *v, const double *epsilons, const double *deltas, int64_t start, int64_t stop,
                    int64_t n_vertices, int64_t *counts, int64_t *bad)
{
    for (int64_t i = start; i < stop; i++) {
        const double delta = deltas == NULL ? 0.0 : deltas[i];
        *bad = i;
        if (u[i] < 0 || u[i] >= n_vertices || v[i] < 0 || v[i] >= n_vertices) {
            return DPF_EDGE_VERTEX;
        }
        if (!(epsilons[i] >= 0.0)) {
            return DPF_EDGE_EPSILON;
        }
        if (!(delta >= 0.0)) {
            return DPF_EDGE_DELTA;
        }
        if (!left_out(u[i], v[i], epsilons[i], delta)) {
            counts[u[i] + 1]++;
            counts[v[i] + 1]++;
        }
    }
    return DPF_EDGE_RIGHT;
}

static void put(int32_t target, double epsilon, double delta, int64_t place, int32_t *indices, double *epsilons, double *deltas)
{
    indices[place] = target;
    epsilons[place] = epsilon;
    if (deltas != NULL) {
        deltas[place] = delta;
    }
}

void dpf_edges_scatter(const int32_t *u, const int32_t *v, const double *epsilons, const double *deltas, int64_t start,
                       int64_t stop, int64_t *cursors, int32_t *indices, double *arc_epsilons, double *arc_deltas)
{
    for (int64_t i = start; i < stop; i++) {
        /* adding 0 makes a negative zero positive */
        const double epsilon = epsilons[i] + 0.0;
        const double delta = deltas == NULL ? 0.0 : deltas[i] + 0.0;
        if (!left_out(u[i], v[i], epsilon, delta)) {
            put(v[i], epsilon, delta, cursors[u[i]]++, indices, arc_epsilons, arc_deltas);
            put(u[i], epsilon, delta, cursors[v[i]]++, indices, arc_epsilons, arc_deltas);
        }
    }
}

void dpf_rows_transpose(const int64_t *indptr, const int32_t *indices, const double *epsilons, const double *deltas, int64_t start,
                        int64_t stop, int64_t *cursors, int32_t *new_indices, double *new_epsilons, double *new_deltas)
{
    for (int64_t row = start; row < stop; row++) {
        for (int64_t i = indptr[row]; i < indptr[row + 1]; i++) {
            const double delta = deltas == NULL ? 0.0 : deltas[i];
            put((int32_t)row, epsilons[i], delta, cursors[indices[i]]++, new_indices, new_epsilons, new_deltas);
        }
    }
}

static int before(const double *epsilons, const double *deltas, int64_t i, int64_t j)
{
    return epsilons[i] < epsilons[j] || (epsilons[i] == epsilons[j] && deltas[i] < deltas[j]);
}

static void swap(double *values, int64_t i, int64_t j)
{
    const double value = values[i];
    values[i] = values[j];
    values[j] = value;
}

static void sift(double *epsilons, double *deltas, int64_t root, int64_t n)
{
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= n) {
            return;
        }
        if (child + 1 < n && before(epsilons, deltas, child, child + 1)) {
            child++;
        }
        if (!before(epsilons, deltas, root, child)) {
            return;
        }
        swap(epsilons, root, child);
        swap(deltas, root, child);
        root = child;
    }
}

/* Heap sort by (epsilon, delta): two vertices may share any number of edges. */
static void sort_pairs(double *epsilons, double *deltas, int64_t n)
{
    for (int64_t root = n / 2; root > 0; root--) {
        sift(epsilons, deltas, root - 1, n);
    }
    for (int64_t last = n - 1; last > 0; last--) {
        swap(epsilons, 0, last);
        swap(deltas, 0, last);
        sift(epsilons, deltas, 0, last);
    }
}

/* Move those of n parallel arcs that no other implies to the front; return how many they are. */
static int64_t strongest(double *epsilons, double *deltas, int64_t n)
{
    if (deltas == NULL) {
        for (int64_t i = 1; i < n; i++) {
            epsilons[0] = epsilons[i] < epsilons[0] ? epsilons[i] : epsilons[0];
        }
        return 1;
    }
    int64_t kept = 1;
    sort_pairs(epsilons, deltas, n);
    for (int64_t i = 1; i < n; i++) {
        if (deltas[i] < deltas[kept - 1]) {
            epsilons[kept] = epsilons[i];
            deltas[kept++] = deltas[i];
        }
    }
    return kept;
}

void dpf_rows_merge(int64_t *indptr, int32_t *indices, double *epsilons, double *deltas, int64_t start, int64_t stop, int64_t *begin,
                    int64_t *filled)
{
    for (int64_t row = start; row < stop; row++) {
        const int64_t end = indptr[row + 1];
        int64_t i = *begin;
        while (i < end) {
            int64_t next = i + 1;
            while (next < end && indices[next] == indices[i]) {
                next++;
            }
            const int64_t kept = next == i + 1 ? 1 : strongest(epsilons + i, deltas == NULL ? NULL : deltas + i, next - i);
            for (int64_t j = i; j < i + kept; j++) {
                put(indices[i], epsilons[j], deltas == NULL ? 0.0 : deltas[j], (*filled)++, indices, epsilons, deltas);
            }
            i = next;
        }
        *begin = end;
        indptr[row + 1] = *filled;
    }
}

void dpf_weights(const double *epsilons, int64_t n, double *weights)
{
    for (int64_t i = 0; i < n; i++) {
        weights[i] = dpf_weight(epsilons[i]);
    }
}
