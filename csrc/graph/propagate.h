/* The least fixed point: word[v] = the smallest key that some path carries from a seed to v, by the law of law.h.
 *
 * dpf_step is monotone and never below its argument, so the smallest key of all is final, and so on (Knuth, 1977: superior
 * functions). The fixed point does not depend on the order of work; the heap and the buckets give equal bits.
 *
 * words[v] in: the key that v starts with, DPF_KEY_ONE for none; out: the fixed point. Both searches return DPF_OK when they are
 * done and DPF_MORE after about `budget` arcs: call again with the same arguments. No function here allocates.
 */
#ifndef DPF_PROPAGATE_H
#define DPF_PROPAGATE_H

#include "model.h"

enum { DPF_MORE = 1, DPF_ROOM = 2 };

/* A heap of four branches of vertices by their words; `places` says where each is, or -1. Both arrays have n_vertices entries. */
typedef struct {
    int32_t *vertices;
    int32_t *places;
    int64_t size;
} dpf_heap_t;

void dpf_heap_start(const dpf_graph_t *graph, const uint64_t *words, dpf_heap_t *heap);
int dpf_heap_run(const dpf_graph_t *graph, uint64_t *words, dpf_heap_t *heap, int64_t budget);

/* Buckets of keys with equal high bits, each a chain of chunks of vertices.
 *
 * While a search runs, the high bit of a word says that the vertex was followed at this key. A vertex of the bucket at hand that
 * is improved after it was followed is followed again; none is ever improved into a bucket that is done. So the width of a
 * bucket decides how much is done twice, and nothing else: an edge raises a key by about epsilon times 2^52, or more.
 */
enum { DPF_CHUNK_ITEMS = 14, DPF_BATCH = 256 };

typedef struct {
    uint32_t next; /* 0: none */
    uint32_t count;
    int32_t items[DPF_CHUNK_ITEMS];
} dpf_chunk_t;

typedef struct {
    unsigned shift;      /* bucket = key >> shift */
    uint64_t n_buckets;
    uint32_t *heads;     /* n_buckets; the first chunk of each, all 0 at first */
    uint64_t *occupied;  /* a bit a bucket, and one word more; all 0 at first */
    dpf_chunk_t *chunks; /* chunk 0 is not used */
    uint32_t capacity;   /* chunks there are; may be raised, with more chunks, when DPF_ROOM was returned */
    uint32_t used;       /* chunks that were used so far, 1 at first */
    uint32_t unused;     /* chain of chunks to use again, 0 at first */
    uint64_t bucket;     /* the one at hand */
    int64_t start;       /* vertices that were put into their buckets so far, 0 at first */
    int32_t batch[DPF_BATCH];
    int at, count;       /* of the batch, 0 at first */
    int64_t followed;    /* vertices followed so far, some of them more than once */
} dpf_buckets_t;

/* Also returns DPF_ROOM: there are no chunks left. */
int dpf_buckets_run(const dpf_graph_t *graph, uint64_t *words, dpf_buckets_t *buckets, int64_t budget);

/* Take the high bits off the words of vertices start <= v < stop. */
void dpf_words_finish(uint64_t *words, int64_t start, int64_t stop);

#endif
