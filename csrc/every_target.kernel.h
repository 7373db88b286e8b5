/* The body DPF_BODY, a header that names what it makes by DPF_ISA, for every SIMD target: base, avx2 and, where DPF_WITH_AVX512 is
 * defined, avx512. Headers of the system that the body needs are included before, so that their functions have no target. */
#define DPF_ISA base
#include DPF_BODY
#undef DPF_ISA

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define DPF_ISA avx2
#include DPF_BODY
#undef DPF_ISA
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(DPF_WITH_AVX512)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-512-bit"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define DPF_ISA avx512
#include DPF_BODY
#undef DPF_ISA
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#endif
