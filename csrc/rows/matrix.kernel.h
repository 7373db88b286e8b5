/* The first stage of the law of a matrix for one code width; see stages.kernel.h. One look at the guide answers a cell. */

/* `marks` are nonzero for the cells whose high word is that of a change of category, or whose bin sees too many. */
static inline __attribute__((always_inline)) int DPF_NAME(stage)(const DPF_T *restrict codes, const uint16_t *restrict high,
                                                                DPF_T *restrict tile, uint16_t *restrict marks, size_t count,
                                                                const dpf_matrix_t *law) {
    enum { SHIFT = 16 - GUIDE_BITS, HERE = (1 << SHIFT) - 1 };
    const uint32_t k = law->k, last_row = law->accept_unknown ? k : k - 1;
    const uint32_t *restrict const guide = law->guide;
    uint32_t entries[DPF_NAME(TILE)];
    uint32_t open = 0;
    DPF_T code = 0;
    for (size_t j = 0; j < count; ++j) {
        const uint32_t row = codes[j] < last_row ? codes[j] : last_row;
        entries[j] = guide[row << GUIDE_BITS | (uint32_t)high[j] >> SHIFT];
    }
    for (size_t j = 0; j < count; ++j) {
        const uint32_t entry = entries[j], here = high[j] & HERE;
        const uint32_t one = entry & PLACE, two = entry >> PLACE_BITS & PLACE, three = entry >> 2 * PLACE_BITS & PLACE;
        const uint32_t mark = (uint32_t)(one == here) | (uint32_t)(two == here) | (uint32_t)(three == here) | entry >> 31;
        marks[j] = (uint16_t)mark;
        open |= mark;
        tile[j] = (DPF_T)((entry >> 3 * PLACE_BITS & CATEGORY) + (uint32_t)(here > one) + (uint32_t)(here > two) +
                          (uint32_t)(here > three));
    }
    for (size_t j = 0; j < count; ++j) {
        const DPF_T x = codes[j];
        code = x > code ? x : code;
    }
    return open != 0 || code >= k;
}

#define DPF_OPEN(law, marks, j) (marks[j] != 0)
