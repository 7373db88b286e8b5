/* SIMD targets: which there are, which this processor has, which one is in use. Results never depend on it. */
#ifndef DPF_ISA_H
#define DPF_ISA_H

#include "kernels.h"

typedef struct {
    const char *name;
    int (*supported)(void);
    const dpf_kernels_t *response; /* kernels of dpf_response_t */
    const dpf_kernels_t *matrix;   /* kernels of dpf_matrix_t */
} dpf_isa_t;

/* Target number i, or NULL past the last; from plainest to widest. */
const dpf_isa_t *dpf_isa_at(size_t i);

/* Use the named target, or the widest one that the processor supports when name is NULL. DPF_OK or DPF_EISA. */
int dpf_isa_select(const char *name);

/* The target in use. */
const dpf_isa_t *dpf_isa_current(void);

/* Whether this processor enciphers several AES blocks, and multiplies for GCM, in one instruction. */
int dpf_has_vector_aes(void);

#endif
