#include "ids.h"

#include "bytes.h"

/* Tag in one byte, length in three, code in four. */
static inline void header(uint8_t *block, uint8_t tag, uint64_t length, uint32_t code) {
    store_le64(block, tag | length << 40 >> 32 | (uint64_t)code << 32);
}

void dpf_id_integer_blocks(const uint64_t *ids, int is_unsigned, uint8_t tag, const uint32_t *codes, size_t n,
                           uint8_t *blocks) {
    for (size_t i = 0; i < n; ++i) {
        const uint8_t top = (uint8_t)(is_unsigned ? ids[i] >> 63 : 0);
        header(blocks + DPF_BLOCK_BYTES * i, (uint8_t)(tag + top), 8, codes[i]);
        store_le64(blocks + DPF_BLOCK_BYTES * i + 8, ids[i]);
    }
}

/* The first 16 of `left` bytes, or all: copies of fixed sizes that overlap, for a call of memcpy costs more than all the rest. */
static inline void copy_start(uint8_t *to, const uint8_t *from, uint64_t left) {
    if (left >= 16) {
        memcpy(to, from, 16);
    } else if (left >= 8) {
        memcpy(to, from, 8);
        memcpy(to + left - 8, from + left - 8, 8);
    } else {
        for (uint64_t j = 0; j < left; ++j) to[j] = from[j];
    }
}

void dpf_id_bytes_first(const uint8_t *data, const int64_t *offsets, uint8_t tag, const uint32_t *codes, size_t n,
                        uint8_t *blocks) {
    for (size_t i = 0; i < n; ++i) {
        uint8_t *const block = blocks + DPF_BLOCK_BYTES * i;
        const uint64_t length = (uint64_t)(offsets[i + 1] - offsets[i]);
        header(block, tag, length, codes[i]);
        memset(block + 8, 0, 8);
        copy_start(block + 8, data + offsets[i], length < 8 ? length : 8);
    }
}

size_t dpf_id_bytes_next(const uint8_t *data, const int64_t *offsets, size_t block, const uint8_t *state,
                         const uint32_t *active, size_t n, uint8_t *blocks, uint32_t *reached) {
    const uint64_t from = 8 + DPF_BLOCK_BYTES * (uint64_t)(block - 1);
    size_t concerned = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t row = active[i];
        const uint64_t length = (uint64_t)(offsets[row + 1] - offsets[row]);
        if (length <= from) continue;
        uint64_t part[2] = {0, 0}, chain[2];
        copy_start((uint8_t *)part, data + offsets[row] + from, length - from);
        memcpy(chain, state + DPF_BLOCK_BYTES * (size_t)row, DPF_BLOCK_BYTES);
        part[0] ^= chain[0];
        part[1] ^= chain[1];
        memcpy(blocks + DPF_BLOCK_BYTES * concerned, part, DPF_BLOCK_BYTES);
        reached[concerned++] = row;
    }
    return concerned;
}

void dpf_blocks_scatter(const uint8_t *blocks, const uint32_t *rows, size_t n, uint8_t *state) {
    for (size_t i = 0; i < n; ++i)
        memcpy(state + DPF_BLOCK_BYTES * (size_t)rows[i], blocks + DPF_BLOCK_BYTES * i, DPF_BLOCK_BYTES);
}

void dpf_block_words(const uint8_t *blocks, size_t n, uint64_t *words) {
    for (size_t i = 0; i < n; ++i) words[i] = load_le64(blocks + DPF_BLOCK_BYTES * i);
}
