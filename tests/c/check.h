/* What the parts of the driver share: checks, buffers of an exact size, words for tests. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds);                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void *room(size_t n, size_t size) {
    void *const at = malloc(n * size + (n == 0)); /* one byte for nothing: malloc(0) may be NULL */
    CHECK(at != NULL);
    return at;
}

static inline uint64_t mix(uint64_t x) { /* SplitMix64: words for tests */
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

void test_matrices(void);
void test_ids(void);

#endif
