/* Snapping for both widths of doubles of the SIMD target DPF_ISA. */
#define DPF_T double
#define DPF_NAME snap_f64
#include "snap.kernel.h"
#define DPF_T float
#define DPF_NAME snap_f32
#include "snap.kernel.h"
