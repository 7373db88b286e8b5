/* Values by group, for the two widths of grid indices. */
#include "groups.h"

#define SMALL 24    /* values that are sorted by insertion */
#define NINTHER 200 /* values from which on nine of them choose the pivot */

#define DPF_SNAP(T, NAME)                                                                                               \
    size_t NAME(const T *values, size_t n, double scale, int64_t first, int64_t last, uint32_t strange, uint32_t *out) { \
        const double low = (double)first - 1, high = (double)last + 1;                                                  \
        size_t strangers = 0;                                                                                           \
        for (size_t i = 0; i < n; ++i) {                                                                                \
            const double place = (double)values[i] * scale;                                                             \
            const int is_strange = place != place;                                                                      \
            const double inside = place > low ? (place < high ? place : high) : low; /* NaN: low */                     \
            int64_t floor = (int64_t)inside;                                                                            \
            floor -= inside < (double)floor;                                                                            \
            int64_t index = floor + (inside - (double)floor >= 0.5); /* the difference is exact enough: see the test */ \
            index = index < first ? first : index > last ? last : index;                                                \
            out[i] = is_strange ? strange : (uint32_t)(index - first);                                                  \
            strangers += (size_t)is_strange;                                                                            \
        }                                                                                                               \
        return strangers;                                                                                               \
    }

DPF_SNAP(double, dpf_snap_f64)
DPF_SNAP(float, dpf_snap_f32)

#define DPF_CODE(T, NAME)                                                                                                 \
    void NAME(const T *values, size_t n, int64_t least, const uint32_t *table, size_t size, uint32_t other, uint32_t *codes) { \
        for (size_t i = 0; i < n; ++i) {                                                                                  \
            const uint64_t place = (uint64_t)values[i] - (uint64_t)least;                                                 \
            codes[i] = place < size ? table[place] : other;                                                               \
        }                                                                                                                 \
    }

DPF_CODE(int64_t, dpf_code_i64)
DPF_CODE(int32_t, dpf_code_i32)

void dpf_group_count(const uint32_t *codes, size_t n, uint64_t *counts) {
    for (size_t i = 0; i < n; ++i) ++counts[codes[i]];
}

#define DPF_JOIN_(a, b) a##_##b
#define DPF_JOIN(a, b) DPF_JOIN_(a, b)

#define DPF_T uint32_t
#define DPF_NAME(name) DPF_JOIN(name, u32)
#include "groups.kernel.h"
#define DPF_T int64_t
#define DPF_NAME(name) DPF_JOIN(name, i64)
#include "groups.kernel.h"
