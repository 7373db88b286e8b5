#include "law.h"
#include "propagate.h"

#define FOLLOWED (UINT64_C(1) << 63)

/* How many vertices ahead the parts of a vertex are asked for: its word and its row, its arcs, the words of its targets. */
enum { AHEAD_ROW = 16, AHEAD_ARCS = 8, AHEAD_TARGETS = 4, TARGETS_AHEAD = 16 };

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
/* GCC takes a function that only prefetches for one without effects and leaves its calls out, unless it is part of the caller. */
#define INLINE __attribute__((always_inline)) inline
#else
#define PREFETCH(address) ((void)(address))
#define INLINE inline
#endif

/* Divide when lately more than one vertex in AGAIN_COST was improved after it had been followed: parts cost something, too. */
enum { AGAIN_COST = 16, AGAIN_MOST = 1024, ROOM_TO_DIVIDE = DPF_PARTS + DPF_BATCH };

/* Where a vertex with a key waits: the first chunk and the bits of its level, and its number there. */
typedef struct {
    uint32_t *heads;
    uint64_t *occupied;
    uint64_t number;
} place_t;

static inline place_t place_of(dpf_buckets_t *buckets, uint64_t key)
{
    place_t place = {buckets->heads, buckets->occupied, key >> buckets->shift};
    unsigned shift = buckets->shift;
    for (int i = 0; i < buckets->n_divisions && key >> shift == buckets->divisions[i].whole; i++) {
        dpf_division_t *division = &buckets->divisions[i];
        shift = division->shift;
        place = (place_t){division->heads, division->occupied, (key >> shift) % DPF_PARTS};
    }
    return place;
}

/* Add a vertex to the bucket of a key; 0 if there is no room. */
static inline int push(dpf_buckets_t *buckets, place_t place, int32_t vertex)
{
    uint32_t head = place.heads[place.number];
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
        place.heads[place.number] = fresh;
        place.occupied[place.number / 64] |= UINT64_C(1) << place.number % 64;
    }
    chunk->items[chunk->count++] = vertex;
    return 1;
}

static inline int is_at(dpf_buckets_t *buckets, place_t place, uint64_t key)
{
    const place_t other = place_of(buckets, key);
    return other.heads == place.heads && other.number == place.number;
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
        } else if (!push(buckets, place_of(buckets, words[v]), (int32_t)v)) {
            return DPF_ROOM;
        }
        (*budget)--;
    }
    return DPF_OK;
}

/* Number of the lowest set bit of `words` words from word `from` on; -1 if there is none. */
static int64_t lowest(const uint64_t *bits, uint64_t from, uint64_t words)
{
    while (from < words && bits[from] == 0) {
        from++;
    }
    if (from == words) {
        return -1;
    }
    int64_t bit = 64 * (int64_t)from;
    for (uint64_t left = bits[from]; (left & 1) == 0; left >>= 1) {
        bit++;
    }
    return bit;
}

/* Fill the batch from the lowest bucket or part with vertices; 0 if there is none. */
static int refill(dpf_buckets_t *buckets)
{
    uint32_t *heads = buckets->heads;
    uint64_t *occupied = buckets->occupied;
    int64_t number = -1;
    while (buckets->n_divisions > 0 && number < 0) {
        dpf_division_t *division = &buckets->divisions[buckets->n_divisions - 1];
        number = lowest(division->occupied, 0, DPF_PARTS / 64);
        heads = division->heads;
        occupied = division->occupied;
        buckets->n_divisions -= number < 0;
    }
    if (number < 0) {
        heads = buckets->heads;
        occupied = buckets->occupied;
        number = lowest(occupied, buckets->bucket / 64, (buckets->n_buckets + 63) / 64);
        if (number < 0) {
            return 0;
        }
        buckets->bucket = (uint64_t)number;
    }
    buckets->at = buckets->count = 0;
    uint32_t head = heads[number];
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
    heads[number] = head;
    if (head == 0) {
        occupied[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
    return 1;
}

static unsigned shift_at_hand(const dpf_buckets_t *buckets)
{
    return buckets->n_divisions == 0 ? buckets->shift : buckets->divisions[buckets->n_divisions - 1].shift;
}

static int can_divide(const dpf_buckets_t *buckets)
{
    return shift_at_hand(buckets) > 0 && buckets->n_divisions < DPF_DIVISIONS;
}

/* Divide the bucket or part at hand, that of `key`, which was followed last; 0 if there may not be room. */
static int divide(const uint64_t *words, dpf_buckets_t *buckets, uint64_t key)
{
    if (buckets->capacity - buckets->used < ROOM_TO_DIVIDE) {
        return 0;
    }
    const place_t whole = place_of(buckets, key);
    uint32_t head = whole.heads[whole.number];
    whole.heads[whole.number] = 0;
    whole.occupied[whole.number / 64] &= ~(UINT64_C(1) << whole.number % 64);
    const unsigned shift = shift_at_hand(buckets);
    dpf_division_t *division = &buckets->divisions[buckets->n_divisions++];
    division->whole = key >> shift;
    division->shift = shift > DPF_PART_BITS ? shift - DPF_PART_BITS : 0;
    memset(division->heads, 0, sizeof division->heads);
    memset(division->occupied, 0, sizeof division->occupied);
    for (;;) {
        for (; buckets->at < buckets->count; buckets->at++) {
            const int32_t v = buckets->batch[buckets->at];
            if ((words[v] & FOLLOWED) == 0) {
                (void)push(buckets, place_of(buckets, words[v]), v);
            }
        }
        if (head == 0) {
            return 1;
        }
        dpf_chunk_t *chunk = &buckets->chunks[head];
        buckets->at = 0;
        buckets->count = (int)chunk->count;
        memcpy(buckets->batch, chunk->items, sizeof chunk->items);
        const uint32_t next = chunk->next;
        chunk->next = buckets->unused;
        buckets->unused = head;
        head = next;
    }
}

static INLINE void ask_for_row(const dpf_graph_t *graph, const uint64_t *words, int32_t v)
{
    PREFETCH(&words[v]);
    PREFETCH(&graph->indptr[v]);
}

static INLINE void ask_for_arcs(const dpf_graph_t *graph, const uint64_t *words, int32_t v)
{
    const int64_t first = graph->indptr[v];
    const int64_t end = graph->indptr[v + 1];
    if (first == end || (words[v] & FOLLOWED) != 0) {
        return;
    }
    PREFETCH(&graph->indices[first]);
    PREFETCH(&graph->indices[end - 1]);
    PREFETCH(&graph->weights[first]);
    PREFETCH(&graph->weights[end - 1]);
    if (graph->deltas != NULL) {
        PREFETCH(&graph->deltas[first]);
        PREFETCH(&graph->deltas[end - 1]);
    }
}

static INLINE void ask_for_targets(const dpf_graph_t *graph, const uint64_t *words, int32_t v)
{
    if ((words[v] & FOLLOWED) == 0) {
        int64_t end = graph->indptr[v + 1];
        end = end - graph->indptr[v] > TARGETS_AHEAD ? graph->indptr[v] + TARGETS_AHEAD : end;
        for (int64_t i = graph->indptr[v]; i < end; i++) {
            PREFETCH(&words[graph->indices[i]]);
        }
    }
}

static INLINE void look_ahead(const dpf_graph_t *graph, const uint64_t *words, const dpf_buckets_t *buckets)
{
    const int32_t *batch = buckets->batch;
    if (buckets->at + AHEAD_ROW < buckets->count) {
        ask_for_row(graph, words, batch[buckets->at + AHEAD_ROW]);
    }
    if (buckets->at + AHEAD_ARCS < buckets->count) {
        ask_for_arcs(graph, words, batch[buckets->at + AHEAD_ARCS]);
    }
    if (buckets->at + AHEAD_TARGETS < buckets->count) {
        ask_for_targets(graph, words, batch[buckets->at + AHEAD_TARGETS]);
    }
}

/* Ask for what `look_ahead` would have asked for before a new batch. */
static INLINE void look_at_first(const dpf_graph_t *graph, const uint64_t *words, const dpf_buckets_t *buckets)
{
    for (int i = 0; i < AHEAD_ROW && i < buckets->count; i++) {
        ask_for_row(graph, words, buckets->batch[i]);
    }
    for (int i = 0; i < AHEAD_ARCS && i < buckets->count; i++) {
        ask_for_arcs(graph, words, buckets->batch[i]);
    }
    for (int i = 0; i < AHEAD_TARGETS && i < buckets->count; i++) {
        ask_for_targets(graph, words, buckets->batch[i]);
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
            const place_t place = place_of(buckets, candidate);
            const int waits_there = word == old && is_at(buckets, place, old);
            if (!waits_there && !push(buckets, place, target)) {
                return 0;
            }
            buckets->again += word != old && old != DPF_KEY_ONE ? AGAIN_COST : 0;
            words[target] = candidate;
        }
    }
    words[v] = key | FOLLOWED;
    buckets->followed++;
    buckets->again -= buckets->again > 0;
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
        if (buckets->at == buckets->count) {
            if (!refill(buckets)) {
                return DPF_OK;
            }
            look_at_first(graph, words, buckets);
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
            if (buckets->again > AGAIN_MOST && can_divide(buckets)) {
                buckets->at++;
                if (!divide(words, buckets, words[v] & ~FOLLOWED)) {
                    return DPF_ROOM;
                }
                buckets->again = 0;
                continue;
            }
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
