#include "law.h"
#include "propagate.h"

#define FOLLOWED (UINT64_C(1) << 63)

/* How many vertices ahead the parts of a vertex are asked for: its word and its row, its arcs, the words of its targets. */
enum { AHEAD_ROW = 24, AHEAD_ARCS = 16, AHEAD_TARGETS = 8, TARGETS_AHEAD = 16 };

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
/* GCC takes a function that only prefetches for one without effects and leaves its calls out, unless it is made part of the caller. */
#define INLINE __attribute__((always_inline)) inline
#else
#define PREFETCH(address) ((void)(address))
#define INLINE inline
#endif

/* Add a vertex to a bucket; 0 if there is no room. */
static inline int push(dpf_buckets_t *buckets, uint64_t bucket, int32_t vertex)
{
    uint32_t head = buckets->heads[bucket];
    dpf_chunk_t *chunk = &buckets->chunks[head];
    if (head == 0 || chunk->count == DPF_CHUNK_ITEMS) {
        uint32_t fresh = buckets->unused;
        if (fresh != 0) {
            buckets->unused = buckets->chunks[fresh].next;
        } else if (buckets->used < buckets->capacity) {
            fresh = buckets->used++;
        } else {
            return 0;
        }
        chunk = &buckets->chunks[fresh];
        chunk->next = head;
        chunk->count = 0;
        buckets->heads[bucket] = fresh;
        buckets->occupied[bucket / 64] |= UINT64_C(1) << bucket % 64;
    }
    chunk->items[chunk->count++] = vertex;
    return 1;
}

/* Put the vertices that have a key into their buckets. */
static int start(const dpf_graph_t *graph, uint64_t *words, dpf_buckets_t *buckets, int64_t *budget)
{
    for (; buckets->start < graph->n_vertices; buckets->start++) {
        const int64_t v = buckets->start;
        if (*budget <= 0) {
            return DPF_MORE;
        }
        if (words[v] >= DPF_KEY_ONE) {
            words[v] = DPF_KEY_ONE | FOLLOWED; /* waits in no bucket; 1 goes nowhere */
        } else if (!push(buckets, words[v] >> buckets->shift, (int32_t)v)) {
            return DPF_ROOM;
        }
        (*budget)--;
    }
    return DPF_OK;
}

/* Fill the batch from the lowest bucket with vertices; 0 if there is none. */
static int refill(dpf_buckets_t *buckets)
{
    uint64_t word = buckets->bucket / 64;
    const uint64_t end = (buckets->n_buckets + 63) / 64;
    while (word < end && buckets->occupied[word] == 0) {
        word++;
    }
    if (word == end) {
        return 0;
    }
    uint64_t bucket = 64 * word;
    for (uint64_t left = buckets->occupied[word]; (left & 1) == 0; left >>= 1) {
        bucket++;
    }
    buckets->bucket = bucket;
    buckets->at = buckets->count = 0;
    uint32_t head = buckets->heads[bucket];
    while (head != 0 && buckets->count + DPF_CHUNK_ITEMS <= DPF_BATCH) {
        dpf_chunk_t *chunk = &buckets->chunks[head];
        for (uint32_t i = 0; i < chunk->count; i++) {
            buckets->batch[buckets->count++] = chunk->items[i];
        }
        const uint32_t next = chunk->next;
        chunk->next = buckets->unused;
        buckets->unused = head;
        head = next;
    }
    buckets->heads[bucket] = head;
    if (head == 0) {
        buckets->occupied[word] &= ~(UINT64_C(1) << bucket % 64);
    }
    return 1;
}

static INLINE void look_ahead(const dpf_graph_t *graph, const uint64_t *words, const dpf_buckets_t *buckets)
{
    const int32_t *batch = buckets->batch;
    if (buckets->at + AHEAD_ROW < buckets->count) {
        const int32_t v = batch[buckets->at + AHEAD_ROW];
        PREFETCH(&words[v]);
        PREFETCH(&graph->indptr[v]);
    }
    if (buckets->at + AHEAD_ARCS < buckets->count) {
        const int32_t v = batch[buckets->at + AHEAD_ARCS];
        if ((words[v] & FOLLOWED) == 0) {
            const int64_t first = graph->indptr[v];
            PREFETCH(&graph->indices[first]);
            PREFETCH(&graph->weights[first]);
            PREFETCH(&graph->weights[first] + 8);
            if (graph->deltas != NULL) {
                PREFETCH(&graph->deltas[first]);
            }
        }
    }
    if (buckets->at + AHEAD_TARGETS < buckets->count) {
        const int32_t v = batch[buckets->at + AHEAD_TARGETS];
        if ((words[v] & FOLLOWED) == 0) {
            int64_t end = graph->indptr[v + 1];
            end = end - graph->indptr[v] > TARGETS_AHEAD ? graph->indptr[v] + TARGETS_AHEAD : end;
            for (int64_t i = graph->indptr[v]; i < end; i++) {
                PREFETCH(&words[graph->indices[i]]);
            }
        }
    }
}

/* Follow the arcs of a vertex; 0 if there was no room for all that they improve (doing it again is safe). */
static inline int follow(const dpf_graph_t *graph, uint64_t *words, dpf_buckets_t *buckets, int32_t v, const double *deltas,
                         const uint8_t *colours)
{
    const uint64_t key = words[v];
    const int64_t end = graph->indptr[v + 1];
    for (int64_t i = graph->indptr[v]; i < end; i++) {
        if (i + TARGETS_AHEAD < end) {
            PREFETCH(&words[graph->indices[i + TARGETS_AHEAD]]);
        }
        const int32_t target = graph->indices[i];
        const uint64_t word = words[target];
        const uint64_t old = word & ~FOLLOWED;
        if (old <= key || (colours != NULL && colours[target] != colours[v])) {
            continue;
        }
        const uint64_t candidate = dpf_step(key, graph->weights[i], deltas == NULL ? 0.0 : deltas[i]);
        if (candidate < old) {
            const uint64_t bucket = candidate >> buckets->shift;
            const int waits_there = word == old && old >> buckets->shift == bucket;
            if (!waits_there && !push(buckets, bucket, target)) {
                return 0;
            }
            words[target] = candidate;
        }
    }
    words[v] = key | FOLLOWED;
    buckets->followed++;
    return 1;
}

int dpf_buckets_run(const dpf_graph_t *graph, uint64_t *words, dpf_buckets_t *buckets, int64_t budget)
{
    const int status = start(graph, words, buckets, &budget);
    if (status != DPF_OK) {
        return status;
    }
    const int plain = graph->deltas == NULL && graph->colours == NULL;
    for (;;) {
        if (buckets->at == buckets->count && !refill(buckets)) {
            return DPF_OK;
        }
        if (budget <= 0) {
            return DPF_MORE;
        }
        look_ahead(graph, words, buckets);
        const int32_t v = buckets->batch[buckets->at];
        if ((words[v] & FOLLOWED) == 0) {
            /* two calls, so that the usual graph has a loop without the questions */
            const int done = plain ? follow(graph, words, buckets, v, NULL, NULL)
                                   : follow(graph, words, buckets, v, graph->deltas, graph->colours);
            if (!done) {
                return DPF_ROOM;
            }
            budget -= graph->indptr[v + 1] - graph->indptr[v];
        }
        buckets->at++;
        budget--;
    }
}

void dpf_words_finish(uint64_t *words, int64_t start, int64_t stop)
{
    for (int64_t v = start; v < stop; v++) {
        words[v] &= ~FOLLOWED;
    }
}
