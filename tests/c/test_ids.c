/* Blocks of identifiers, by their definition. */
#include "check.h"

#include "ids.h"

static void encipher(uint8_t *blocks, size_t n) { /* stands in for the cipher: not the identity, nor linear */
    for (size_t i = 0; i < 16 * n; ++i) blocks[i] = (uint8_t)(5 * blocks[i] + 53);
}

/* Chained blocks of strings of all short lengths, by the definition. */
static void test_string_blocks(void) {
    enum { N = 60, TAG = 3 };
    int64_t *const offsets = room(N + 1, sizeof *offsets);
    offsets[0] = 0;
    for (int i = 0; i < N; ++i) offsets[i + 1] = offsets[i] + i;
    uint8_t *const data = room((size_t)offsets[N], 1);
    for (int64_t i = 0; i < offsets[N]; ++i) data[i] = (uint8_t)mix((uint64_t)i);
    uint32_t *const codes = room(N, sizeof *codes), *const active = room(N, sizeof *active);
    uint8_t *const state = room(N, 16), *const blocks = room(N, 16);
    for (uint32_t i = 0; i < N; ++i) codes[i] = 0x01020304u * i, active[i] = i;

    dpf_id_bytes_first(data, offsets, TAG, codes, N, state);
    encipher(state, N);
    size_t n = N;
    for (size_t block = 1; n > 0; ++block) {
        n = dpf_id_bytes_next(data, offsets, block, state, active, n, blocks, active);
        encipher(blocks, n);
        dpf_blocks_scatter(blocks, active, n, state);
    }
    for (int i = 0; i < N; ++i) {
        uint8_t expected[16] = {0};
        expected[0] = TAG;
        expected[1] = (uint8_t)i;
        for (int b = 0; b < 4; ++b) expected[4 + b] = (uint8_t)(codes[i] >> (8 * b));
        for (int j = 0; j < i; ++j) {
            if (j > 0 && j % 16 == 8) encipher(expected, 1);
            expected[(8 + j) % 16] ^= data[offsets[i] + j];
        }
        encipher(expected, 1);
        CHECK(memcmp(state + 16 * i, expected, 16) == 0);
    }
    free(offsets), free(data), free(codes), free(active), free(state), free(blocks);
}

void test_ids(void) {
    static const uint8_t integers[32] = {1, 8, 0, 0, 9, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
                                         2, 8, 0, 0, 0, 0, 1, 0, 1,    0,    0,    0,    0,    0,    0,    0x80};
    uint8_t *const blocks = room(2, 16);
    const uint64_t ids[] = {INT64_MAX, (UINT64_C(1) << 63) + 1};
    const uint32_t codes[] = {9, 65536};
    dpf_id_integer_blocks(ids, 1, 1, codes, 2, blocks);
    CHECK(memcmp(blocks, integers, 32) == 0);
    dpf_id_integer_blocks(ids, 0, 1, codes, 2, blocks);
    CHECK(blocks[16] == 1);

    uint64_t *const words = room(2, sizeof *words);
    dpf_block_words(blocks, 2, words);
    CHECK(words[0] == UINT64_C(0x0000000900000801));
    free(blocks), free(words);
    test_string_blocks();
    printf("ids\n");
}
