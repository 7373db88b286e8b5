/* One body of the response kernels for one code width. Included by response.c for every SIMD target and width with
 *   DPF_T     the code type,            DPF_WIDE  the lane type: uint16_t for 8- and 16-bit codes, uint32_t for 32-bit ones,
 *   DPF_NAME  maker of the function names.
 * Plain C that GCC and clang vectorise; no header of any processor. */

/* First stage of `count` cells into `tile`; nonzero when some cell is pending or outside the domain. The `low` bits decide
 * such a cell, so its place in `tile` is overwritten by the caller. */
static inline __attribute__((always_inline)) unsigned DPF_NAME(stage)(const DPF_T *codes, const uint16_t *high, DPF_T *tile,
                                                                     size_t count, const dpf_response_t *law) {
    const uint32_t multiplier = law->multiplier;
    const uint16_t zone_last = law->zone_last, mask = law->mask, margin = law->margin, decided = law->decided;
    const uint16_t shift = law->shift;
    const DPF_WIDE k = (DPF_WIDE)law->k;
    DPF_WIDE open = 0;
    for (size_t j = 0; j < count; ++j) {
        const uint16_t h = high[j];
        const DPF_WIDE x = codes[j];
        const uint16_t p = (uint16_t)((h * multiplier) >> 16);
        const uint16_t category = (uint16_t)(p >> shift);
        const uint16_t fraction = (uint16_t)((uint16_t)(p & mask) - margin);
        const uint16_t zone = h <= zone_last ? 0xFFFF : 0;
        const uint16_t straddles = fraction >= decided ? 0xFFFF : 0;
        open |= (DPF_WIDE)(zone & straddles);
        open |= x >= k ? (DPF_WIDE)0xFFFF : (DPF_WIDE)0;
        tile[j] = (DPF_T)(zone ? category : x);
    }
    return open;
}

static int DPF_NAME(first)(const void *codes, const uint16_t *high, void *out, size_t n, const dpf_response_t *law,
                           uint32_t *rows, uint32_t *trues, size_t *pending) {
    enum { TILE = 64 };
    DPF_T tile[TILE];
    size_t listed = 0;
    int status = DPF_OK;
    for (size_t base = 0; base < n; base += TILE) {
        const size_t count = n - base < TILE ? n - base : TILE;
        const DPF_T *const x = (const DPF_T *)codes + base;
        const uint16_t *const h = high + base;
        const unsigned open = count == TILE ? DPF_NAME(stage)(x, h, tile, TILE, law) : DPF_NAME(stage)(x, h, tile, count, law);
        if (open) {
            for (size_t j = 0; j < count; ++j) {
                const int unknown = x[j] >= law->k;
                const uint16_t p = (uint16_t)(((uint32_t)h[j] * law->multiplier) >> 16);
                const uint16_t fraction = (uint16_t)((uint16_t)(p & law->mask) - law->margin);
                if (unknown && !law->accept_unknown) {
                    status = DPF_EDOMAIN;
                    tile[j] = 0;
                } else if (unknown || (h[j] <= law->zone_last && fraction >= law->decided)) {
                    rows[listed] = (uint32_t)(base + j);
                    trues[listed] = unknown ? law->k : (uint32_t)x[j];
                    ++listed;
                    tile[j] = 0;
                }
            }
        }
        memcpy((DPF_T *)out + base, tile, count * sizeof(DPF_T));
    }
    *pending = listed;
    return status;
}

static void DPF_NAME(settle)(const uint16_t *high, const uint8_t *low, const uint32_t *rows, const uint32_t *trues,
                             size_t pending, void *out, const dpf_response_t *law) {
    for (size_t i = 0; i < pending; ++i) {
        const uint8_t *const b = low + 16 * i;
        const uint64_t word = (uint64_t)high[rows[i]] << 48 | (uint64_t)b[5] << 40 | (uint64_t)b[4] << 32 |
                              (uint64_t)b[3] << 24 | (uint64_t)b[2] << 16 | (uint64_t)b[1] << 8 | (uint64_t)b[0];
        ((DPF_T *)out)[rows[i]] = (DPF_T)decide(law, word, trues[i]);
    }
}

static int DPF_NAME(whole)(const void *codes, const uint64_t *words, void *out, size_t n, const dpf_response_t *law) {
    const DPF_T *const in = codes;
    DPF_T *const answers = out;
    int outside = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t x = in[i];
        const int refused = x >= law->k && !law->accept_unknown;
        outside |= refused;
        answers[i] = refused ? (DPF_T)0 : (DPF_T)decide(law, words[i], x);
    }
    return outside ? DPF_EDOMAIN : DPF_OK;
}

#undef DPF_T
#undef DPF_WIDE
#undef DPF_NAME
