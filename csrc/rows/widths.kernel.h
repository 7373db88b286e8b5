/* The kernels of the law DPF_LAW for the three code widths of the SIMD target DPF_ISA, and their table. */
#define DPF_T uint8_t
#define DPF_WIDE uint16_t
#define DPF_NAME(x) DPF_JOIN(x, u8, DPF_ISA)
#include "stages.kernel.h"

#define DPF_T uint16_t
#define DPF_WIDE uint16_t
#define DPF_NAME(x) DPF_JOIN(x, u16, DPF_ISA)
#include "stages.kernel.h"

#define DPF_T uint32_t
#define DPF_WIDE uint32_t
#define DPF_NAME(x) DPF_JOIN(x, u32, DPF_ISA)
#include "stages.kernel.h"

DPF_TABLE(DPF_ISA)
