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
 *
 * No width is right for all: along edges of tiny epsilons a whole graph can lie in one bucket. When much is followed again the
 * bucket at hand is divided into up to 256, these again where they must be, down to single keys, among which nothing is improved.
 */
enum { DPF_CHUNK_ITEMS = 14, DPF_BATCH = 256, DPF_PART_BITS = 8, DPF_PARTS = 1 << DPF_PART_BITS, DPF_DIVISIONS = 7 };

typedef struct {
    uint32_t next; /* 0: none */
    uint32_t count;
    int32_t items[DPF_CHUNK_ITEMS];
} dpf_chunk_t;

/* A bucket of the level above, divided: part = key >> shift, less what all its keys have in common. */
typedef struct {
    uint64_t whole; /* its keys >> the shift of the level above */
    unsigned shift;
    uint32_t heads[DPF_PARTS];
    uint64_t occupied[DPF_PARTS / 64];
} dpf_division_t;

typedef struct {
    unsigned shift;      /* bucket = key >> shift; at most 8 * DPF_DIVISIONS */
    uint64_t n_buckets;
    uint32_t *heads;     /* n_buckets; the first chunk of each, all 0 at first */
    uint64_t *occupied;  /* a bit a bucket, and one word more; all 0 at first */
    dpf_chunk_t *chunks; /* chunk 0 is not used */
    uint32_t capacity;   /* chunks there are; may be raised, with more chunks, when DPF_ROOM was returned */
    uint32_t used;       /* chunks that were used so far, 1 at first */
    uint32_t unused;     /* chain of chunks to use again, 0 at first */
    uint64_t bucket;     /* the one at hand */
    dpf_division_t divisions[DPF_DIVISIONS]; /* of it, of a part of it, ... */
    int n_divisions;     /* 0 at first */
    int again;           /* rises with each vertex improved after it was followed, falls with each followed; 0 at first */
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
