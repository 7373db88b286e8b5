/* Values by group, for the two widths of grid indices. */
#include "groups.h"

#define SMALL 24    /* values that are sorted by insertion */
#define NINTHER 200 /* values from which on nine of them choose the pivot */

#define DPF_JOIN_(a, b) a##_##b
#define DPF_JOIN(a, b) DPF_JOIN_(a, b)

#define DPF_BODY "snap.types.kernel.h"
#include "every_target.kernel.h"

#if defined(__x86_64__)
#define DPF_SNAP(name) (plain || !__builtin_cpu_supports("avx2") ? name##_base : name##_avx2)
#else
#define DPF_SNAP(name) ((void)plain, name##_base)
#endif

size_t dpf_snap_f64(const double *values, size_t n, double scale, int32_t first, int32_t last, uint32_t *out, int plain) {
    return DPF_SNAP(snap_f64)(values, n, scale, (double)first, (double)last, out);
}

size_t dpf_snap_f32(const float *values, size_t n, double scale, int32_t first, int32_t last, uint32_t *out, int plain) {
    return DPF_SNAP(snap_f32)(values, n, scale, (double)first, (double)last, out);
}

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

void dpf_group_spread(const uint32_t *codes, const uint32_t *values, size_t n, unsigned shift, uint64_t *next, uint64_t *out) {
    for (size_t i = 0; i < n; ++i) out[next[codes[i] >> shift]++] = (uint64_t)codes[i] << 32 | values[i];
}

void dpf_group_settle(const uint64_t *pairs, size_t n, uint64_t *next, uint32_t *out) {
    for (size_t i = 0; i < n; ++i) out[next[pairs[i] >> 32]++] = (uint32_t)pairs[i];
}

#define DPF_T uint32_t
#define DPF_NAME(name) DPF_JOIN(name, u32)
#include "groups.kernel.h"
#define DPF_T int64_t
#define DPF_NAME(name) DPF_JOIN(name, i64)
#include "groups.kernel.h"
