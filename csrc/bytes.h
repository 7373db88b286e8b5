/* The blocks of the cipher: their size, and words in their bytes. */
#ifndef DPF_BYTES_H
#define DPF_BYTES_H

#include <string.h>

#include "dpf.h"

enum { DPF_BLOCK_BYTES = 16 };

/* The layout is a format, the same on every machine. Whole words are moved: GCC makes vectors of loops over their bytes, which
 * are several times slower. */
static inline uint64_t little(uint64_t v) {
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

static inline void store_le64(uint8_t *at, uint64_t v) {
    v = little(v);
    memcpy(at, &v, 8);
}

static inline void store_be64(uint8_t *at, uint64_t v) {
    store_le64(at, __builtin_bswap64(v));
}

static inline uint64_t load_le64(const uint8_t *at) {
    uint64_t v;
    memcpy(&v, at, 8);
    return little(v);
}

#endif
