/* The pass, one function a type and SIMD target. */
#include "select.h"

#include <string.h>

/* Values of a block are read twice, the second time from the first-level cache; its counts fit the narrowest counter. */
#define BLOCK 64

#define DPF_JOIN_(a, b) a##_##b
#define DPF_JOIN(a, b) DPF_JOIN_(a, b)

typedef void (*scan_t)(const void *, size_t, const void *, void *, uint64_t *);

#define DPF_BODY "scan.types.kernel.h"
#include "every_target.kernel.h"

void dpf_scan(int type, const void *values, size_t n, const void *limits, void *kept, uint64_t *counts, int plain) {
#if defined(__x86_64__)
    if (!plain && __builtin_cpu_supports("avx2")) {
        SCANS_avx2[type](values, n, limits, kept, counts);
        return;
    }
#endif
    (void)plain;
    SCANS_base[type](values, n, limits, kept, counts);
}
