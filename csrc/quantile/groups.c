/* Values by group, for the two widths of grid indices. */
#include "groups.h"

#include <string.h>

#define SMALL 24    /* values that are sorted by insertion */
#define LINE 16     /* values in a line of a cache */
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

void dpf_group_count(const uint32_t *codes, size_t n, unsigned shift, uint64_t *counts) {
    for (size_t i = 0; i < n; ++i) ++counts[codes[i] >> shift];
}

void dpf_group_spread(const uint32_t *codes, const uint32_t *values, size_t n, unsigned shift, unsigned bits, uint64_t *next,
                      uint32_t *out) {
    const uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1), within = ((uint32_t)1 << shift) - 1;
    for (size_t i = 0; i < n; ++i) {
        const size_t place = next[codes[i] >> shift]++;
        out[place] = (uint32_t)((uint64_t)(codes[i] & within) << bits) | (values[i] & mask);
        __builtin_prefetch(out + place + LINE, 1); /* the line of a cache that this bucket comes to next */
    }
}

/* One pass of a radix sort: by `width` bits from `shift` on. Afterwards next[digit] is the end of that digit. */
static void pass(const uint32_t *from, size_t n, unsigned shift, unsigned width, uint32_t *next, uint32_t *to) {
    const size_t digits = (size_t)1 << width;
    const uint32_t mask = (uint32_t)(digits - 1);
    memset(next, 0, digits * sizeof *next);
    for (size_t i = 0; i < n; ++i) ++next[(from[i] >> shift) & mask];
    for (size_t digit = 0, start = 0, count; digit < digits; ++digit, start += count) {
        count = next[digit];
        next[digit] = (uint32_t)start;
    }
    for (size_t i = 0; i < n; ++i) to[next[(from[i] >> shift) & mask]++] = from[i];
}

void dpf_group_order(uint32_t *keys, size_t n, unsigned bits, unsigned code_bits, uint32_t *spare, uint32_t *ends,
                     uint64_t *sizes) {
    const unsigned passes = (bits + DPF_DIGIT - 1) / DPF_DIGIT, width = (bits + passes - 1) / passes;
    const uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    uint32_t next[(size_t)1 << DPF_DIGIT], *from = keys, *to = spare;
    for (unsigned done = 0; done < passes; ++done) {
        pass(from, n, done * width, width, next, to);
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (code_bits) {
        pass(from, n, bits, code_bits, ends, to);
        from = to;
    } else {
        ends[0] = (uint32_t)n;
    }
    for (size_t i = 0; i < n; ++i) keys[i] = from[i] & mask;
    for (size_t code = 0, start = 0; code < (size_t)1 << code_bits; start = ends[code++]) {
        size_t end = ends[code];
        while (end > start && keys[end - 1] == mask) --end;
        sizes[code] = end - start;
    }
}

#define DPF_T uint32_t
#define DPF_NAME(name) DPF_JOIN(name, u32)
#include "groups.kernel.h"
#define DPF_T int64_t
#define DPF_NAME(name) DPF_JOIN(name, i64)
#include "groups.kernel.h"
