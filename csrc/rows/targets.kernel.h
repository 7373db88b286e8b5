/* The kernels of the law DPF_LAW, first stage DPF_KERNEL, for every SIMD target: tables DPF_KERNELS_base, _avx2, _avx512. */
#define DPF_JOIN_(a, b, c) a##_##b##_##c
#define DPF_JOIN(a, b, c) DPF_JOIN_(a, b, c)
#define DPF_PASTE_(a, b) a##_##b
#define DPF_PASTE(a, b) DPF_PASTE_(a, b)
#define DPF_TABLE(isa) DPF_TABLE_(isa)
#define DPF_TABLE_(isa)                                           \
    const dpf_kernels_t DPF_PASTE(DPF_KERNELS, isa) = {          \
        {first_u8_##isa, first_u16_##isa, first_u32_##isa},       \
        {settle_u8_##isa, settle_u16_##isa, settle_u32_##isa},    \
        {whole_u8_##isa, whole_u16_##isa, whole_u32_##isa}};

#define DPF_BODY "widths.kernel.h"
#define DPF_WITH_AVX512
#include "every_target.kernel.h"
