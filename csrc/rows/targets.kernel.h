/* The kernels of the law DPF_LAW, first stage DPF_KERNEL, for every SIMD target: tables DPF_KERNELS_base, _avx2, _avx512. */
#define DPF_JOIN_(a, b, c) a##_##b##_##c
#define DPF_JOIN(a, b, c) DPF_JOIN_(a, b, c)
#define DPF_PASTE_(a, b) a##_##b
#define DPF_PASTE(a, b) DPF_PASTE_(a, b)
#define DPF_TABLE(isa)                                            \
    const dpf_kernels_t DPF_PASTE(DPF_KERNELS, isa) = {          \
        {first_u8_##isa, first_u16_##isa, first_u32_##isa},       \
        {settle_u8_##isa, settle_u16_##isa, settle_u32_##isa},    \
        {whole_u8_##isa, whole_u16_##isa, whole_u32_##isa}};

#define DPF_ISA base
#include "widths.kernel.h"
DPF_TABLE(base)
#undef DPF_ISA

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define DPF_ISA avx2
#include "widths.kernel.h"
DPF_TABLE(avx2)
#undef DPF_ISA
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-512-bit"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define DPF_ISA avx512
#include "widths.kernel.h"
DPF_TABLE(avx512)
#undef DPF_ISA
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
