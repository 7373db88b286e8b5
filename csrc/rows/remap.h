/* Dictionary indices of a column to codes of the declared domain. */
#ifndef DPF_REMAP_H
#define DPF_REMAP_H

#include "dpf.h"

/* out[i] = table[indices[i]], or null_code where bit (offset + i) of the validity bitmap is 0 (least significant bit first;
 * validity NULL: no nulls). Signed indices are passed as their unsigned twins: a negative one lies past every table.
 * indices    [in] n unsigned integers of index_width bytes (1, 2, 4, 8)      validity [in] bitmap or NULL
 * table      [in] n_table codes of code_width bytes (1, 2, 4)                out      [out] n codes of code_width bytes
 * Returns DPF_OK, or DPF_ECORRUPT when a valid index has no entry (such cells are null_code). Thread-safe: yes. */
int dpf_remap(const void *indices, size_t index_width, const uint8_t *validity, size_t offset, const void *table,
              size_t code_width, size_t n_table, uint32_t null_code, void *out, size_t n);

#endif
