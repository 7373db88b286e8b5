#include "remap.h"

enum {
    BLOCK = 256, /* indices that are compared with the size of the table before they are looked up without a question */
    AHEAD = 4096 /* bytes between a load and its prefetch: indices come from memory, or from the caches of another core */
};

#define DPF_REMAP(I, T)                                                                                                 \
    static int remap_##I##_##T(const I *indices, const uint8_t *validity, size_t offset, const T *table, size_t n_table, \
                               T null_code, T *out, size_t n) {                                                         \
        int broken = 0;                                                                                                 \
        for (size_t i = 0; i < n; ++i) {                                                                                \
            const size_t bit = offset + i;                                                                              \
            const int valid = validity == NULL || (validity[bit >> 3] >> (bit & 7) & 1);                                \
            const int inside = indices[i] < n_table;                                                                    \
            broken |= valid & !inside;                                                                                  \
            out[i] = valid & inside ? table[indices[i]] : null_code;                                                    \
        }                                                                                                               \
        return broken ? DPF_ECORRUPT : DPF_OK;                                                                          \
    }

#define DPF_REMAP_ALL(I, T)                                                                                             \
    static int remap_all_##I##_##T(const I *indices, const T *table, size_t n_table, T null_code, T *out, size_t n) {    \
        const I last = n_table > (I)-1 ? (I)-1 : (I)(n_table - 1);                                                      \
        int broken = 0;                                                                                                 \
        for (size_t start = 0; start < n; start += BLOCK) {                                                             \
            const size_t count = n - start < BLOCK ? n - start : BLOCK;                                                 \
            const I *const x = indices + start;                                                                         \
            T *const y = out + start;                                                                                   \
            int beyond = n_table == 0;                                                                                  \
            for (size_t b = 0; b < BLOCK * sizeof(I); b += 64) __builtin_prefetch((const char *)x + b + AHEAD);         \
            for (size_t b = 0; b < BLOCK * sizeof(T); b += 64) __builtin_prefetch((const char *)y + b + AHEAD, 1);      \
            for (size_t j = 0; j < count; ++j) beyond |= x[j] > last;                                                   \
            broken |= beyond;                                                                                           \
            if (beyond)                                                                                                 \
                remap_##I##_##T(x, NULL, 0, table, n_table, null_code, y, count);                                       \
            else                                                                                                        \
                for (size_t j = 0; j < count; ++j) y[j] = table[x[j]];                                                  \
        }                                                                                                               \
        return broken ? DPF_ECORRUPT : DPF_OK;                                                                          \
    }

/* One-byte indices, no bitmap: the table is filled up to every index there is, so the loop compares nothing; one pass for the
 * largest index, a vector's work, tells whether an entry was missing. */
#define DPF_REMAP_BYTES(T)                                                                                           \
    static int remap_all_uint8_t_##T(const uint8_t *indices, const T *table, size_t n_table, T null_code, T *out, size_t n) { \
        T every[256];                                                                                                \
        uint8_t largest = 0;                                                                                         \
        for (size_t i = 0; i < 256; ++i)                                                                             \
            every[i] = i < n_table ? table[i] : null_code;                                                           \
        for (size_t i = 0; i < n; ++i)                                                                               \
            largest = indices[i] > largest ? indices[i] : largest;                                                   \
        for (size_t i = 0; i < n; ++i)                                                                               \
            out[i] = every[indices[i]];                                                                              \
        return n != 0 && largest >= n_table ? DPF_ECORRUPT : DPF_OK;                                                 \
    }

DPF_REMAP_BYTES(uint8_t)
DPF_REMAP_BYTES(uint16_t)
DPF_REMAP_BYTES(uint32_t)

#define DPF_REMAP_CODES(REMAP, I) \
    REMAP(I, uint8_t)             \
    REMAP(I, uint16_t)            \
    REMAP(I, uint32_t)

DPF_REMAP_CODES(DPF_REMAP, uint8_t)
DPF_REMAP_CODES(DPF_REMAP, uint16_t)
DPF_REMAP_CODES(DPF_REMAP, uint32_t)
DPF_REMAP_CODES(DPF_REMAP, uint64_t)
DPF_REMAP_CODES(DPF_REMAP_ALL, uint16_t)
DPF_REMAP_CODES(DPF_REMAP_ALL, uint32_t)
DPF_REMAP_CODES(DPF_REMAP_ALL, uint64_t)

#define DPF_CALL(I, T) remap_##I##_##T(indices, validity, offset, table, n_table, (T)null_code, out, n)
#define DPF_CALL_ALL(I, T) remap_all_##I##_##T(indices, table, n_table, (T)null_code, out, n)
#define DPF_CALL_CODES(CALL, I) (code_width == 1 ? CALL(I, uint8_t) : code_width == 2 ? CALL(I, uint16_t) : CALL(I, uint32_t))

int dpf_remap(const void *indices, size_t index_width, const uint8_t *validity, size_t offset, const void *table,
              size_t code_width, size_t n_table, uint32_t null_code, void *out, size_t n) {
    if (validity == NULL) {
        switch (index_width) {
        case 1: return DPF_CALL_CODES(DPF_CALL_ALL, uint8_t);
        case 2: return DPF_CALL_CODES(DPF_CALL_ALL, uint16_t);
        case 4: return DPF_CALL_CODES(DPF_CALL_ALL, uint32_t);
        default: return DPF_CALL_CODES(DPF_CALL_ALL, uint64_t);
        }
    }
    switch (index_width) {
    case 1: return DPF_CALL_CODES(DPF_CALL, uint8_t);
    case 2: return DPF_CALL_CODES(DPF_CALL, uint16_t);
    case 4: return DPF_CALL_CODES(DPF_CALL, uint32_t);
    default: return DPF_CALL_CODES(DPF_CALL, uint64_t);
    }
}
