#include "isa.h"

#include "matrix.h"
#include "response.h"

#include <stdatomic.h>
#include <string.h>

static int always(void) { return 1; }

#if defined(__x86_64__)
/* The builtin asks the processor and whether the operating system keeps the registers. */
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }

static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

static const dpf_isa_t targets[] = {
    {"base", always, &dpf_response_base, &dpf_matrix_base},
#if defined(__x86_64__)
    {"avx2", has_avx2, &dpf_response_avx2, &dpf_matrix_avx2},
    {"avx512", has_avx512, &dpf_response_avx512, &dpf_matrix_avx512},
#endif
};
enum { N_TARGETS = sizeof targets / sizeof targets[0] };

static _Atomic(const dpf_isa_t *) current = &targets[0];

int dpf_has_vector_aes(void) {
#if defined(__x86_64__)
    return has_avx512() && __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq");
#else
    return 0;
#endif
}

const dpf_isa_t *dpf_isa_at(size_t i) { return i < N_TARGETS ? &targets[i] : NULL; }

const dpf_isa_t *dpf_isa_current(void) { return atomic_load_explicit(&current, memory_order_relaxed); }

int dpf_isa_select(const char *name) {
    const dpf_isa_t *chosen = NULL;
    for (size_t i = 0; i < N_TARGETS; ++i) {
        const int wanted = name == NULL || strcmp(name, targets[i].name) == 0;
        if (wanted && targets[i].supported()) chosen = &targets[i];
    }
    if (chosen == NULL) return DPF_EISA;
    atomic_store_explicit(&current, chosen, memory_order_relaxed);
    return DPF_OK;
}
