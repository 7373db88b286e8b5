/* Driver of the C core without Python: built with the strict warnings and each sanitizer, run with leak checking.
 * Every buffer is allocated at its exact size, so that a read or write past an end is reported where it happens.
 * `test_csrc overrun` commits one on purpose: the control of the sanitised build. */
#include "check.h"

#include "isa.h"
#include "popcount.h"
#include "remap.h"
#include "response.h"
#include "words.h"

__extension__ typedef unsigned __int128 wide_t;

static const wide_t RANGE = (wide_t)1 << 64;
enum { N_HIGH = 65536 };

static const uint64_t UNIFORM = UINT64_MAX; /* in place of a step, which is never that large */

static int prepare(uint32_t k, uint64_t step, int accept, dpf_response_t *law) {
    return dpf_response_prepare(k, step == UNIFORM ? 12345 : step, step == UNIFORM, accept, law);
}

/* The first word of category x, or one past its last for x = k: the law by plain division. */
static wide_t first_word(uint32_t k, uint64_t step, uint32_t x) {
    if (step != UNIFORM) return (wide_t)step * x;
    const wide_t wide = RANGE % k;
    return RANGE / k * x + (x < wide ? x : wide);
}

static uint32_t answer(uint32_t k, uint64_t step, uint64_t word, uint32_t code) {
    const uint64_t law = code >= k ? UNIFORM : step;
    if (word >= first_word(k, law, k)) return code;
    uint32_t low = 0, high = k; /* bisection: first_word(low) <= word < first_word(high) */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (first_word(k, law, middle) <= word)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Low bits of the word to try for a pending cell: ends of the block, both sides of the boundary in it, any. */
static uint64_t low_bits(uint32_t k, uint64_t step, uint16_t high, uint32_t code, int pass) {
    const uint64_t start = (uint64_t)high << 48, last = start + ((UINT64_C(1) << 48) - 1);
    if (pass == 0) return 0;
    if (pass == 1) return last - start;
    if (pass == 4) return mix(start + code) >> 16;
    const uint64_t law = code >= k ? UNIFORM : step;
    if (start >= first_word(k, law, k)) return 0;
    const wide_t boundary = first_word(k, law, answer(k, law, start, 0) + 1);
    if (boundary <= start || boundary > last) return 0;
    return (uint64_t)(boundary - start) - (pass == 2);
}

static uint32_t test_code(size_t i, uint32_t k, uint32_t largest, int unknowns) {
    if (unknowns && i % 97 == 5 && k <= largest) return i % 2 ? k : largest;
    return (uint32_t)(i * 7 % k);
}

#define TEST_WIDTH(T, S, WIDTH)                                                                                        \
    static void test_two_stages_##S(const dpf_kernels_t *kernels, uint32_t k, uint64_t step, int accept,      \
                                    size_t n, size_t first_high, int in_place) {                                       \
        dpf_response_t law;                                                                                            \
        CHECK(prepare(k, step, accept, &law) == DPF_OK);                                                               \
        T *const codes = room(n, sizeof(T)), *const out = in_place ? codes : room(n, sizeof(T));                       \
        T *const kept = room(n, sizeof(T));                                                                            \
        uint16_t *const high = room(n, sizeof *high);                                                                  \
        dpf_pending_t cells = {room(n, 4), room(n, 4), room(n, 2), 0};                                                 \
        const uint32_t *const rows = cells.rows, *const trues = cells.trues;                                           \
        int outside = 0;                                                                                               \
        for (size_t i = 0; i < n; ++i) {                                                                               \
            high[i] = (uint16_t)(first_high + i);                                                                      \
            kept[i] = codes[i] = (T)test_code(i, k, (T)-1, 1);                                                         \
            outside |= kept[i] >= k;                                                                                   \
        }                                                                                                              \
        const int status = kernels->first[WIDTH](codes, high, out, n, 0, &law, &cells);                                \
        const size_t pending = cells.count;                                                                            \
        CHECK(status == (outside && !accept ? DPF_EDOMAIN : DPF_OK));                                                  \
        size_t listed = 0;                                                                                             \
        for (size_t i = 0; i < n; ++i) {                                                                               \
            const uint64_t start = (uint64_t)high[i] << 48;                                                            \
            if (listed < pending && rows[listed] == i) {                                                               \
                CHECK(out[i] == 0 && trues[listed] == (kept[i] < k ? kept[i] : k) && cells.highs[listed] == high[i]);  \
                ++listed;                                                                                              \
            } else if (kept[i] >= k) {                                                                                 \
                CHECK(!accept && out[i] == 0);                                                                         \
            } else {                                                                                                   \
                CHECK(out[i] == answer(k, step, start, kept[i]));                                                      \
                CHECK(out[i] == answer(k, step, start + ((UINT64_C(1) << 48) - 1), kept[i]));                          \
            }                                                                                                          \
        }                                                                                                              \
        CHECK(listed == pending);                                                                                      \
        uint8_t *const low = room(pending, 16);                                                                        \
        for (int pass = 0; pass < 5; ++pass) {                                                                         \
            for (size_t j = 0; j < pending; ++j) {                                                                     \
                const uint64_t bits = low_bits(k, step, high[rows[j]], trues[j], pass);                                \
                memset(low + 16 * j, 0xA5, 16);                                                                        \
                for (size_t b = 0; b < 6; ++b) low[16 * j + b] = (uint8_t)(bits >> (8 * b));                           \
            }                                                                                                          \
            kernels->settle[WIDTH](&cells, low, out, &law);                                                            \
            for (size_t j = 0; j < pending; ++j) {                                                                     \
                const uint16_t h = high[rows[j]];                                                                      \
                const uint64_t word = (uint64_t)h << 48 | low_bits(k, step, h, trues[j], pass);                        \
                CHECK(out[rows[j]] == answer(k, step, word, trues[j]));                                                \
            }                                                                                                          \
        }                                                                                                              \
        if (!in_place) free(out);                                                                                      \
        free(codes), free(kept), free(high), free(cells.rows), free(cells.trues), free(cells.highs), free(low);        \
    }                                                                                                                  \
                                                                                                                       \
    static void test_whole_##S(const dpf_kernels_t *kernels, uint32_t k, uint64_t step, int accept, size_t n) { \
        dpf_response_t law;                                                                                            \
        CHECK(prepare(k, step, accept, &law) == DPF_OK);                                                               \
        T *const codes = room(n, sizeof(T)), *const kept = room(n, sizeof(T));                                         \
        uint64_t *const words = room(n, sizeof *words);                                                                \
        int outside = 0;                                                                                               \
        for (size_t i = 0; i < n; ++i) {                                                                               \
            kept[i] = codes[i] = (T)test_code(i, k, (T)-1, 1);                                                         \
            outside |= kept[i] >= k;                                                                                   \
            words[i] = mix(i);                                                                                         \
            /* every other word stands next to a boundary, and the ends of the range occur */                          \
            const uint32_t x = (uint32_t)(words[i] % k);                                                               \
            if (i % 2) words[i] = (uint64_t)(first_word(k, kept[i] < k ? step : UNIFORM, x + 1) - i % 4 / 2);          \
            if (i % 64 == 8) words[i] = 0;                                                                             \
            if (i % 64 == 16) words[i] = UINT64_MAX;                                                                   \
        }                                                                                                              \
        const int status = kernels->whole[WIDTH](codes, words, codes, n, &law);                                        \
        CHECK(status == (outside && !accept ? DPF_EDOMAIN : DPF_OK));                                                  \
        for (size_t i = 0; i < n; ++i)                                                                                 \
            CHECK(codes[i] == (kept[i] >= k && !accept ? 0 : answer(k, step, words[i], kept[i])));                     \
        free(codes), free(kept), free(words);                                                                          \
    }

TEST_WIDTH(uint8_t, u8, DPF_U8)
TEST_WIDTH(uint16_t, u16, DPF_U16)
TEST_WIDTH(uint32_t, u32, DPF_U32)

#define TEST_LAW(S)                                                                                                    \
    do {                                                                                                               \
        for (int accept = 0; accept < 2; ++accept) {                                                                   \
            if (k <= DPF_SPLIT_MAX) {                                                                                  \
                test_two_stages_##S(kernels, k, step, accept, N_HIGH, 0, 0);                                           \
                for (size_t n = 0; n < 300; n += n % 64 > 1 && n % 64 < 62 ? 20 : 1)                                   \
                    test_two_stages_##S(kernels, k, step, accept, n, mix(n) % N_HIGH, n % 2 == 1);                     \
            }                                                                                                          \
            test_whole_##S(kernels, k, step, accept, 1000);                                                            \
            test_whole_##S(kernels, k, step, accept, 0);                                                               \
        }                                                                                                              \
    } while (0)

static void test_response(const dpf_kernels_t *kernels) {
    static const uint32_t sizes[] = {1, 2, 3, 5, 10, 255, 256, 257, 1000, 1023, 1024, 1025, 65536, 1u << 31};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const uint32_t k = sizes[s];
        const uint64_t most = (uint64_t)((RANGE - 1) / k) + (RANGE % k == 0); /* the largest t: k*t <= 2^64 */
        const uint64_t steps[] = {UNIFORM, 0, 1, most, most - 1, most / 2 + 1, most / 3, most / 1000 + 1, UINT64_C(1) << 20};
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
            const uint64_t step = k == 1 ? UNIFORM : steps[i];
            if (k <= 256) TEST_LAW(u8);
            if (k <= 65536) TEST_LAW(u16);
            TEST_LAW(u32);
        }
    }
}

static void test_prepare(void) {
    dpf_response_t law;
    CHECK(dpf_response_prepare(0, 0, 1, 0, &law) == DPF_ELAW);
    CHECK(dpf_response_prepare((1u << 31) + 1, 0, 1, 0, &law) == DPF_ELAW);
    CHECK(dpf_response_prepare(4, UINT64_C(1) << 62, 0, 0, &law) == DPF_OK);
    CHECK(dpf_response_prepare(4, (UINT64_C(1) << 62) + 1, 0, 0, &law) == DPF_ELAW);
    CHECK(dpf_response_prepare(1u << 31, UINT64_MAX, 0, 0, &law) == DPF_ELAW);
    CHECK(dpf_response_prepare(1, 0, 0, 0, &law) == DPF_OK && law.uniform);
}

static void test_isa(void) {
    CHECK(dpf_isa_select("sse9") == DPF_EISA);
    CHECK(dpf_isa_select("base") == DPF_OK && strcmp(dpf_isa_current()->name, "base") == 0);
    for (size_t i = 0; dpf_isa_at(i) != NULL; ++i) {
        const dpf_isa_t *const target = dpf_isa_at(i);
        CHECK(dpf_isa_select(target->name) == (target->supported() ? DPF_OK : DPF_EISA));
        if (target->supported()) {
            CHECK(dpf_isa_current() == target);
            test_response(target->response);
            printf("response kernels, %s\n", target->name);
        }
    }
    CHECK(dpf_isa_select(NULL) == DPF_OK);
}

static void test_remap_width(size_t index_width, size_t code_width) {
    enum { N = 150, N_TABLE = 40 };
    uint8_t *const table = room(N_TABLE, code_width);
    for (size_t i = 0; i < N_TABLE; ++i) {
        const uint32_t code = (uint32_t)(3 * i);
        memcpy(table + i * code_width, &code, code_width);
    }
    for (size_t offset = 0; offset < 17; ++offset) {
        for (int broken = 0; broken < 2; ++broken) {
            uint8_t *const indices = room(N, index_width), *const out = room(N, code_width);
            uint8_t *const validity = room((offset + N + 7) / 8, 1);
            memset(validity, 0, (offset + N + 7) / 8);
            for (size_t i = 0; i < N; ++i) {
                const int null = i % 5 == 2;
                const uint64_t index = null ? N_TABLE + i % 9 : broken && i == N - 1 ? N_TABLE : i % N_TABLE;
                memcpy(indices + i * index_width, &index, index_width);
                if (!null) validity[(offset + i) >> 3] |= (uint8_t)(1u << ((offset + i) & 7));
            }
            const int status = dpf_remap(indices, index_width, validity, offset, table, code_width, N_TABLE, 7, out, N);
            CHECK(status == (broken ? DPF_ECORRUPT : DPF_OK));
            for (size_t i = 0; i < N; ++i) {
                uint32_t code = 0;
                memcpy(&code, out + i * code_width, code_width);
                CHECK(code == (i % 5 == 2 || (broken && i == N - 1) ? 7 : 3 * (i % N_TABLE)));
            }
            CHECK(dpf_remap(indices, index_width, NULL, 0, table, code_width, N_TABLE, 7, out, 0) == DPF_OK);
            CHECK(dpf_remap(indices, index_width, NULL, 0, table, code_width, N_TABLE, 7, out, 3) == DPF_ECORRUPT);
            free(indices), free(out), free(validity);
        }
    }
    free(table);
}

/* One-byte indices without a bitmap have a loop of their own: every index, tables of any length, one missing entry at any row. */
static void test_remap_bytes(size_t code_width) {
    uint8_t *const table = room(256, code_width), *const indices = room(300, 1), *const out = room(300, code_width);
    for (size_t i = 0; i < 256; ++i) {
        const uint32_t code = (uint32_t)(255 - i);
        memcpy(table + i * code_width, &code, code_width);
    }
    for (size_t n_table = 1; n_table <= 256; n_table += 51) {
        for (size_t n = 0; n < 20; ++n) {
            for (size_t broken = 0; broken <= n; ++broken) { /* broken == n: none */
                for (size_t i = 0; i < n; ++i) indices[i] = (uint8_t)(i == broken ? n_table : (n_table - 1 - i % n_table));
                const int missing = broken < n && n_table < 256;
                CHECK(dpf_remap(indices, 1, NULL, 0, table, code_width, n_table, 9, out, n) == (missing ? DPF_ECORRUPT : DPF_OK));
                for (size_t i = 0; i < n; ++i) {
                    uint32_t code = 0;
                    memcpy(&code, out + i * code_width, code_width);
                    CHECK(code == (missing && i == broken ? 9u : 255u - indices[i]));
                }
            }
        }
    }
    for (size_t i = 0; i < 300; ++i) indices[i] = (uint8_t)i;
    CHECK(dpf_remap(indices, 1, NULL, 0, table, code_width, 256, 9, out, 300) == DPF_OK);
    for (size_t i = 0; i < 300; ++i) CHECK(out[i * code_width] == 255 - indices[i]);
    free(table), free(indices), free(out);
}

/* Without a bitmap, blocks whose indices all lie inside are looked up in a loop of their own: one missing entry, in any block. */
static void test_remap_blocks(size_t index_width, size_t code_width) {
    enum { N = 600, N_TABLE = 250 };
    uint8_t *const table = room(N_TABLE, code_width), *const indices = room(N, index_width), *const out = room(N, code_width);
    for (size_t i = 0; i < N_TABLE; ++i) {
        const uint32_t code = (uint32_t)(N_TABLE - 1 - i);
        memcpy(table + i * code_width, &code, code_width);
    }
    for (size_t broken = 0; broken <= N; broken += 40) { /* N: none */
        for (size_t i = 0; i < N; ++i) {
            const uint64_t index = i == broken ? N_TABLE : i % N_TABLE;
            memcpy(indices + i * index_width, &index, index_width);
        }
        const int status = dpf_remap(indices, index_width, NULL, 0, table, code_width, N_TABLE, 251, out, N);
        CHECK(status == (broken < N ? DPF_ECORRUPT : DPF_OK));
        for (size_t i = 0; i < N; ++i) {
            uint32_t code = 0;
            memcpy(&code, out + i * code_width, code_width);
            CHECK(code == (i == broken ? 251 : N_TABLE - 1 - i % N_TABLE));
        }
        CHECK(dpf_remap(indices, index_width, NULL, 0, table, code_width, 0, 251, out, N) == DPF_ECORRUPT);
    }
    free(table), free(indices), free(out);
}

static void test_remap(void) {
    for (size_t code_width = 1; code_width <= 4; code_width *= 2) test_remap_bytes(code_width);
    for (size_t index_width = 1; index_width <= 8; index_width *= 2)
        for (size_t code_width = 1; code_width <= 4; code_width *= 2) {
            test_remap_width(index_width, code_width);
            test_remap_blocks(index_width, code_width);
        }
    printf("remap\n");
}

static void test_words(void) {
    static const uint8_t counter[32] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8,
                                        0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 5, 5, 6, 6, 0xFF};
    const uint32_t rows[] = {8, UINT32_MAX}; /* the second carries into the upper half */
    uint8_t *const blocks = room(2, 16);
    dpf_counter_blocks(1, UINT64_C(0x0102030405060700), rows, 2, blocks);
    CHECK(memcmp(blocks, counter, 32) == 0);
    free(blocks);
    printf("words\n");
}

/* One bits in runs of all short lengths from every place in a byte, whole and in two pieces, against bit by bit. */
static void test_ones(void) {
    enum { MOST = 1200, RUNS = 3 };
    for (uint64_t first = 0; first < 8; ++first) {
        for (int64_t middle = 0; middle < MOST; middle += middle < 80 ? 1 : 37) {
            const int64_t lengths[RUNS] = {5, middle, 9000 - middle};
            const uint64_t size = 5 + 9000, cut = (uint64_t)middle / 2 + 3;
            uint8_t *const bits = room((size_t)(first + size + 7) / 8, 1);
            for (uint64_t i = 0; i < (first + size + 7) / 8; ++i) bits[i] = (uint8_t)mix(i + first);
            int64_t expected[RUNS] = {0}, ones[RUNS] = {0}, pieces[RUNS] = {0};
            uint64_t at = first;
            for (int run = 0; run < RUNS; ++run)
                for (int64_t i = 0; i < lengths[run]; ++i, ++at) expected[run] += bits[at / 8] >> at % 8 & 1;
            CHECK(dpf_count_ones(bits, first, size, lengths, RUNS, 0, ones) == RUNS);
            CHECK(memcmp(ones, expected, sizeof ones) == 0);
            const size_t run = dpf_count_ones(bits, first, cut, lengths, RUNS, 0, pieces);
            uint64_t skip = cut;
            for (size_t i = 0; i < run; ++i) skip -= (uint64_t)lengths[i];
            CHECK(dpf_count_ones(bits, first + cut, size - cut, lengths + run, RUNS - run, skip, pieces + run) == RUNS - run);
            CHECK(memcmp(pieces, expected, sizeof pieces) == 0);
            free(bits);
        }
    }
    printf("ones\n");
}

static int overrun(void) {
    dpf_response_t law;
    uint8_t *const codes = room(64, 1), *const out = room(63, 1);
    uint16_t *const high = room(64, sizeof *high);
    dpf_pending_t pending = {room(64, 4), room(64, 4), room(64, 2), 0};
    memset(codes, 0, 64);
    memset(high, 0, 64 * sizeof *high);
    CHECK(prepare(4, 1000, 0, &law) == DPF_OK);
    (void)dpf_isa_current()->response->first[DPF_U8](codes, high, out, 64, 0, &law, &pending);
    free(codes), free(out), free(high), free(pending.rows), free(pending.trues), free(pending.highs);
    return 0;
}

int main(int n_arguments, char **arguments) {
    if (n_arguments > 1 && strcmp(arguments[1], "overrun") == 0) return overrun();
    test_prepare();
    test_isa();
    test_remap();
    test_matrices();
    test_words();
    test_ids();
    test_ones();
    return 0;
}
