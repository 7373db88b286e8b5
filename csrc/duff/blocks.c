#include "blocks.h"

#include <float.h>
#include <string.h>

#define DPF_JOIN_(a, b) a##b
#define DPF_JOIN(a, b) DPF_JOIN_(a, b)

enum { HALF = DPF_BLOCK / 2 };

#define DPF_ISA base
#include "blocks.kernel.h"
#undef DPF_ISA

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define DPF_ISA avx2
#include "blocks.kernel.h"
#undef DPF_ISA
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

int dpf_blocks(const double *x, size_t n, double *maxima, double *sums, int plain) {
#if defined(__x86_64__)
    if (!plain && __builtin_cpu_supports("avx2")) return blocks_avx2(x, n, maxima, sums);
#else
    (void)plain;
#endif
    return blocks_base(x, n, maxima, sums);
}
