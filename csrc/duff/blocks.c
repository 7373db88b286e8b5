#include "blocks.h"

#include <float.h>
#include <string.h>

#define DPF_JOIN_(a, b) a##b
#define DPF_JOIN(a, b) DPF_JOIN_(a, b)

enum { HALF = DPF_BLOCK / 2 };

#define DPF_WITH_AVX512
#define DPF_BODY "blocks.kernel.h"
#include "every_target.kernel.h"

int dpf_blocks(const double *x, size_t n, double *maxima, double *sums, int plain) {
#if defined(__x86_64__)
    if (!plain && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return blocks_avx512(x, n, maxima, sums);
    if (!plain && __builtin_cpu_supports("avx2")) return blocks_avx2(x, n, maxima, sums);
#else
    (void)plain;
#endif
    return blocks_base(x, n, maxima, sums);
}
