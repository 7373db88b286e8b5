/* One body of the response kernels for one code width. Included by response.c for every SIMD target and width with
 *   DPF_T     the code type,            DPF_WIDE  the lane type: uint16_t for 8- and 16-bit codes, uint32_t for 32-bit ones,
 *   DPF_NAME  maker of the function names.
 * Plain C that GCC and clang vectorise; no header of any processor. */

enum {
    DPF_NAME(TILE) = 128,  /* rows between two looks at whether a cell is open: pending, or outside the domain */
    DPF_NAME(AHEAD) = 1024 /* bytes between a load and its prefetch: what memory delivers while a few tiles are worked */
};

/* First stage of `count` cells into `tile`; nonzero when some cell is open. `fractions` are those of the cells in the zone, 0
 * for the others. The caller overwrites open cells of `tile`: their low bits decide. One loop for each width and kind of step,
 * and products of 16-bit numbers alone (category = p >> shift = p * raise >> 16), lest GCC widen the lanes. */
static inline __attribute__((always_inline)) int DPF_NAME(stage)(const DPF_T *restrict codes, const uint16_t *restrict high,
                                                                DPF_T *restrict tile, uint16_t *restrict fractions,
                                                                size_t count, const dpf_response_t *law) {
    const uint16_t multiplier = law->multiplier, raise = law->raise, zone_last = law->zone_last, margin = law->margin;
    uint16_t place[DPF_NAME(TILE)], category[DPF_NAME(TILE)], zone[DPF_NAME(TILE)];
    uint16_t fraction = 0;
    DPF_T code = 0;
    for (size_t j = 0; j < count; ++j) place[j] = (uint16_t)((uint32_t)high[j] * multiplier >> 16);
    for (size_t j = 0; j < count; ++j) category[j] = (uint16_t)((uint32_t)place[j] * raise >> 16);
    for (size_t j = 0; j < count; ++j) zone[j] = high[j] <= zone_last ? 0xFFFF : 0;
    for (size_t j = 0; j < count; ++j) fractions[j] = (uint16_t)((uint16_t)(place[j] * raise - margin) & zone[j]);
    for (size_t j = 0; j < count; ++j) fraction = fractions[j] > fraction ? fractions[j] : fraction;
    for (size_t j = 0; j < count; ++j) tile[j] = (DPF_T)((category[j] & zone[j]) | (codes[j] & ~(DPF_WIDE)(int16_t)zone[j]));
    for (size_t j = 0; j < count; ++j) {
        const DPF_T x = codes[j];
        code = x > code ? x : code;
    }
    return fraction >= law->decided || code >= law->k;
}

static int DPF_NAME(first)(const void *codes, const uint16_t *high, void *out, size_t n, uint32_t base,
                           const dpf_response_t *law, dpf_pending_t *pending) {
    enum { TILE = DPF_NAME(TILE) };
    DPF_T tile[TILE];
    uint16_t fractions[TILE];
    size_t listed = pending->count;
    int status = DPF_OK;
    for (size_t start = 0; start < n; start += TILE) {
        const size_t count = n - start < TILE ? n - start : TILE;
        const DPF_T *const x = (const DPF_T *)codes + start;
        const uint16_t *const h = high + start;
        for (size_t b = 0; b < TILE * sizeof(DPF_T); b += 64) {
            __builtin_prefetch((const char *)x + b + DPF_NAME(AHEAD));
            __builtin_prefetch((const char *)((DPF_T *)out + start) + b + DPF_NAME(AHEAD), 1);
        }
        const int open = count == TILE ? DPF_NAME(stage)(x, h, tile, fractions, TILE, law)
                                            : DPF_NAME(stage)(x, h, tile, fractions, count, law);
        for (size_t j = 0; open && j < count; ++j) {
            if (fractions[j] < law->decided && x[j] < law->k) continue;
            tile[j] = 0;
            if (x[j] >= law->k && !law->accept_unknown) {
                status = DPF_EDOMAIN;
                continue;
            }
            pending->rows[listed] = base + (uint32_t)(start + j);
            pending->trues[listed] = x[j] < law->k ? (uint32_t)x[j] : law->k;
            pending->highs[listed] = h[j];
            ++listed;
        }
        memcpy((DPF_T *)out + start, tile, count * sizeof(DPF_T));
    }
    pending->count = listed;
    return status;
}

static void DPF_NAME(settle)(const dpf_pending_t *pending, const uint8_t *low, void *out, const dpf_response_t *law) {
    for (size_t i = 0; i < pending->count; ++i) {
        const uint8_t *const b = low + 16 * i;
        const uint64_t word = (uint64_t)pending->highs[i] << 48 | (uint64_t)b[5] << 40 | (uint64_t)b[4] << 32 |
                              (uint64_t)b[3] << 24 | (uint64_t)b[2] << 16 | (uint64_t)b[1] << 8 | (uint64_t)b[0];
        ((DPF_T *)out)[pending->rows[i]] = (DPF_T)decide(law, word, pending->trues[i]);
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
