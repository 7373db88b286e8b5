/* The first stage of the k-ary response law for one code width; see stages.kernel.h. Plain C that GCC and clang vectorise. */

/* `marks` are the marks of the cells in the zone, 0 for the others. One loop for each width and kind of step, and products
 * of 16-bit numbers alone (category = p >> shift = p * raise >> 16), lest GCC widen the lanes. */
static inline __attribute__((always_inline)) int DPF_NAME(stage)(const DPF_T *restrict codes, const uint16_t *restrict high,
                                                                DPF_T *restrict tile, uint16_t *restrict marks,
                                                                size_t count, const dpf_response_t *law) {
    const uint16_t multiplier = law->multiplier, raise = law->raise, zone_last = law->zone_last, margin = law->margin;
    uint16_t place[DPF_NAME(TILE)], category[DPF_NAME(TILE)], zone[DPF_NAME(TILE)];
    uint16_t fraction = 0;
    DPF_T code = 0;
    for (size_t j = 0; j < count; ++j) place[j] = (uint16_t)((uint32_t)high[j] * multiplier >> 16);
    for (size_t j = 0; j < count; ++j) category[j] = (uint16_t)((uint32_t)place[j] * raise >> 16);
    for (size_t j = 0; j < count; ++j) zone[j] = high[j] <= zone_last ? 0xFFFF : 0;
    for (size_t j = 0; j < count; ++j) marks[j] = (uint16_t)((uint16_t)(place[j] * raise - margin) & zone[j]);
    for (size_t j = 0; j < count; ++j) fraction = marks[j] > fraction ? marks[j] : fraction;
    for (size_t j = 0; j < count; ++j) tile[j] = (DPF_T)((category[j] & zone[j]) | (codes[j] & ~(DPF_WIDE)(int16_t)zone[j]));
    for (size_t j = 0; j < count; ++j) {
        const DPF_T x = codes[j];
        code = x > code ? x : code;
    }
    return fraction >= law->decided || code >= law->k;
}

#define DPF_OPEN(law, marks, j) (marks[j] >= law->decided)
