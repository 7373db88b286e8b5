/* The pass for every type of values, for the SIMD target DPF_ISA, and the table of them. */
#define DPF_T int8_t
#define DPF_C uint8_t
#define DPF_NAME scan_i8
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T int16_t
#define DPF_C uint16_t
#define DPF_NAME scan_i16
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T int32_t
#define DPF_C uint32_t
#define DPF_NAME scan_i32
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T int64_t
#define DPF_C uint64_t
#define DPF_NAME scan_i64
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T uint8_t
#define DPF_C uint8_t
#define DPF_NAME scan_u8
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T uint16_t
#define DPF_C uint16_t
#define DPF_NAME scan_u16
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T uint32_t
#define DPF_C uint32_t
#define DPF_NAME scan_u32
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T uint64_t
#define DPF_C uint64_t
#define DPF_NAME scan_u64
#define DPF_IS_STRANGE(v) 0
#include "scan.kernel.h"
#define DPF_T float
#define DPF_C uint32_t
#define DPF_NAME scan_f32
#define DPF_IS_STRANGE(v) ((v) != (v))
#include "scan.kernel.h"
#define DPF_T double
#define DPF_C uint64_t
#define DPF_NAME scan_f64
#define DPF_IS_STRANGE(v) ((v) != (v))
#include "scan.kernel.h"
static const scan_t DPF_JOIN(SCANS, DPF_ISA)[DPF_TYPES] = {
    DPF_JOIN(scan_i8, DPF_ISA), DPF_JOIN(scan_i16, DPF_ISA), DPF_JOIN(scan_i32, DPF_ISA), DPF_JOIN(scan_i64, DPF_ISA), DPF_JOIN(scan_u8, DPF_ISA),
    DPF_JOIN(scan_u16, DPF_ISA), DPF_JOIN(scan_u32, DPF_ISA), DPF_JOIN(scan_u64, DPF_ISA), DPF_JOIN(scan_f32, DPF_ISA), DPF_JOIN(scan_f64, DPF_ISA)};
