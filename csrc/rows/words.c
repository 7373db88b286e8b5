#include "words.h"

#include "bytes.h"

void dpf_counter_blocks(uint64_t plane, uint64_t first, const uint32_t *rows, size_t n, uint8_t *blocks) {
    for (size_t i = 0; i < n; ++i) {
        store_be64(blocks + DPF_BLOCK_BYTES * i, plane);
        store_be64(blocks + DPF_BLOCK_BYTES * i + 8, first + rows[i]);
    }
}

void dpf_row_blocks(uint64_t plane, uint64_t first, size_t n, uint8_t *blocks) {
    for (size_t i = 0; i < n; ++i) {
        store_be64(blocks + DPF_BLOCK_BYTES * i, plane);
        store_be64(blocks + DPF_BLOCK_BYTES * i + 8, first + i);
    }
}

void dpf_join_words(const uint16_t *high, const uint8_t *blocks, size_t n, uint64_t *words) {
    for (size_t i = 0; i < n; ++i) words[i] = (uint64_t)high[i] << 48 | load_le64(blocks + DPF_BLOCK_BYTES * i) << 16 >> 16;
}
