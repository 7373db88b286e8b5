#include "law.h"
#include "propagate.h"

static void place(dpf_heap_t *heap, int64_t at, int32_t vertex)
{
    heap->vertices[at] = vertex;
    heap->places[vertex] = (int32_t)at;
}

static void rise(dpf_heap_t *heap, const uint64_t *words, int64_t at, int32_t vertex)
{
    while (at > 0) {
        const int64_t parent = (at - 1) / 4;
        if (words[heap->vertices[parent]] <= words[vertex]) {
            break;
        }
        place(heap, at, heap->vertices[parent]);
        at = parent;
    }
    place(heap, at, vertex);
}

static void sink(dpf_heap_t *heap, const uint64_t *words, int64_t at, int32_t vertex)
{
    for (;;) {
        const int64_t first = 4 * at + 1;
        int64_t least = first;
        if (first >= heap->size) {
            break;
        }
        for (int64_t child = first + 1; child < first + 4 && child < heap->size; child++) {
            if (words[heap->vertices[child]] < words[heap->vertices[least]]) {
                least = child;
            }
        }
        if (words[vertex] <= words[heap->vertices[least]]) {
            break;
        }
        place(heap, at, heap->vertices[least]);
        at = least;
    }
    place(heap, at, vertex);
}

void dpf_heap_start(const dpf_graph_t *graph, const uint64_t *words, dpf_heap_t *heap)
{
    heap->size = 0;
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        heap->places[v] = -1;
        if (words[v] < DPF_KEY_ONE) {
            rise(heap, words, heap->size++, (int32_t)v);
        }
    }
}

int dpf_heap_run(const dpf_graph_t *graph, uint64_t *words, dpf_heap_t *heap, int64_t budget)
{
    while (heap->size > 0) {
        if (budget <= 0) {
            return DPF_MORE;
        }
        const int32_t v = heap->vertices[0];
        heap->places[v] = -1;
        const int32_t last = heap->vertices[--heap->size];
        if (heap->size > 0) {
            sink(heap, words, 0, last);
        }
        for (int64_t i = graph->indptr[v]; i < graph->indptr[v + 1]; i++) {
            const int32_t target = graph->indices[i];
            if (graph->colours != NULL && graph->colours[target] != graph->colours[v]) {
                continue;
            }
            const uint64_t key = dpf_step(words[v], graph->weights[i], graph->deltas == NULL ? 0.0 : graph->deltas[i]);
            if (key < words[target]) {
                words[target] = key;
                rise(heap, words, heap->places[target] < 0 ? heap->size++ : heap->places[target], target);
            }
        }
        budget -= 1 + graph->indptr[v + 1] - graph->indptr[v];
    }
    return DPF_OK;
}
