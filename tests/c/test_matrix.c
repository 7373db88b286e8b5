/* Laws of matrices on every SIMD target, against a search along the row. */
#include "check.h"

#include "isa.h"
#include "matrix.h"

/* A law of k + 1 random rows: rows i % 4 == 1 have categories without words, rows i % 4 == 2 one category that owns all. */
static void make_matrix(uint32_t k, uint64_t *tops, uint32_t *firsts, uint32_t *guide) {
    for (uint32_t i = 0; i <= k; ++i) {
        uint64_t *const row = tops + (size_t)i * k, step = UINT64_MAX / k;
        for (uint32_t x = 0; x < k; ++x) row[x] = step * x + mix(i * k + x) % step;
        for (uint32_t x = 1; i % 4 == 1 && x < k; x += 3) row[x] = row[x - 1];
        for (uint32_t x = k / 2; i % 4 == 2 && x < k; ++x) row[x] = UINT64_MAX;
        row[k - 1] = UINT64_MAX;
        firsts[i] = i % 4 == 2 ? k / 2 : 0;
        CHECK(dpf_matrix_guide(row, k, firsts[i], guide + (size_t)i * DPF_GUIDE_SIZE) == DPF_OK);
    }
}

static uint32_t matrix_answer(const uint64_t *row, uint32_t first, uint64_t word) {
    uint32_t x = first;
    while (word > row[x]) ++x;
    return x;
}

static void test_matrix(const dpf_kernels_t *kernels, uint32_t k, size_t n) {
    uint64_t *const tops = room((size_t)(k + 1) * k, sizeof *tops), *const words = room(n, sizeof *words);
    uint32_t *const firsts = room(k + 1, sizeof *firsts), *const guide = room((size_t)(k + 1) * DPF_GUIDE_SIZE, sizeof *guide);
    uint16_t *const codes = room(n, 2), *const out = room(n, 2), *const high = room(n, 2);
    dpf_pending_t pending = {room(n, 4), room(n, 4), room(n, 2), 0};
    make_matrix(k, tops, firsts, guide);
    const dpf_matrix_t law = {k, 1, tops, guide};
    for (size_t i = 0; i < n; ++i) {
        codes[i] = (uint16_t)(mix(i) % (k + 2));
        const uint32_t row = codes[i] < k ? codes[i] : k;
        words[i] = mix(~i);
        /* every other word stands next to a boundary of its row */
        if (i % 2) words[i] = tops[(size_t)row * k + mix(i + n) % k] + i % 4 / 2;
        high[i] = (uint16_t)(words[i] >> 48);
    }
    CHECK(kernels->whole[DPF_U16](codes, words, out, n, &law) == DPF_OK);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t row = codes[i] < k ? codes[i] : k;
        CHECK(out[i] == matrix_answer(tops + (size_t)row * k, firsts[row], words[i]));
    }
    if (k <= DPF_SPLIT_MAX) {
        uint16_t *const again = room(n, 2);
        CHECK(kernels->first[DPF_U16](codes, high, again, n, 7, &law, &pending) == DPF_OK);
        uint8_t *const low = room(pending.count, 16);
        for (size_t j = 0; j < pending.count; ++j) {
            CHECK(again[pending.rows[j] -= 7] == 0);
            for (size_t b = 0; b < 16; ++b) low[16 * j + b] = (uint8_t)(b < 6 ? words[pending.rows[j]] >> (8 * b) : 0xA5);
        }
        kernels->settle[DPF_U16](&pending, low, again, &law);
        CHECK(memcmp(again, out, 2 * n) == 0);
        free(again), free(low);
    }
    free(tops), free(words), free(firsts), free(guide), free(codes), free(out), free(high);
    free(pending.rows), free(pending.trues), free(pending.highs);
}

void test_matrices(void) {
    static const uint32_t sizes[] = {1, 2, 3, 16, 255, 1000, 1024, 1025, 1500};
    for (size_t i = 0; dpf_isa_at(i) != NULL; ++i) {
        if (!dpf_isa_at(i)->supported()) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
            for (size_t n = 0; n < 400; n += n < 3 ? 1 : 131) test_matrix(dpf_isa_at(i)->matrix, sizes[s], n);
    }
    uint32_t *const guide = room(DPF_GUIDE_SIZE, sizeof *guide);
    const uint64_t good[] = {5, UINT64_MAX}, short_of[] = {5, 6}, falling[] = {7, 6, UINT64_MAX};
    CHECK(dpf_matrix_guide(good, 2, 0, guide) == DPF_OK && dpf_matrix_guide(good, 2, 2, guide) == DPF_ELAW);
    CHECK(dpf_matrix_guide(short_of, 2, 0, guide) == DPF_ELAW && dpf_matrix_guide(falling, 3, 0, guide) == DPF_ELAW);
    CHECK(dpf_matrix_guide(good, 0, 0, guide) == DPF_ELAW);
    free(guide);
    printf("matrices\n");
}
