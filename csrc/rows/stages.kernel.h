/* Both stages of a law for one code width. Included for every SIMD target and width with
 *   DPF_T       the code type,            DPF_WIDE  the lane type: uint16_t for 8- and 16-bit codes, uint32_t for 32-bit ones,
 *   DPF_NAME    maker of the function names,
 *   DPF_LAW     the type of the law, which has k and accept_unknown,
 *   DPF_KERNEL  the header with its first stage:
 *     DPF_NAME(stage)(codes, high, tile, marks, count, law) fills `tile` with `count` answers and `marks` with what DPF_OPEN
 *     asks; nonzero when a cell may be open: left to the low bits, or outside the domain. Open cells of `tile` are overwritten.
 *     DPF_OPEN(law, marks, j): the low bits of cell j matter,
 * the function decide_block(law, words, codes, answers, count), the law itself for up to BLOCK cells whose codes it answers. */

enum {
    DPF_NAME(TILE) = 128,  /* rows between two looks at whether a cell is open */
    DPF_NAME(AHEAD) = 1024 /* bytes between a load and its prefetch: what memory delivers while a few tiles are worked */
};

#include DPF_KERNEL

static int DPF_NAME(first)(const void *codes, const uint16_t *high, void *out, size_t n, uint32_t base,
                           const void *prepared, dpf_pending_t *pending) {
    enum { TILE = DPF_NAME(TILE) };
    const DPF_LAW *const law = prepared;
    DPF_T tile[TILE];
    uint16_t marks[TILE];
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
        const int open = count == TILE ? DPF_NAME(stage)(x, h, tile, marks, TILE, law)
                                            : DPF_NAME(stage)(x, h, tile, marks, count, law);
        for (size_t j = 0; open && j < count; ++j) {
            if (!DPF_OPEN(law, marks, j) && x[j] < law->k) continue;
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

static void DPF_NAME(settle)(const dpf_pending_t *pending, const uint8_t *low, void *out, const void *prepared) {
    const DPF_LAW *const law = prepared;
    uint64_t words[BLOCK];
    uint32_t answers[BLOCK];
    for (size_t start = 0; start < pending->count; start += BLOCK) {
        const size_t count = pending->count - start < BLOCK ? pending->count - start : BLOCK;
        for (size_t j = 0; j < count; ++j) {
            const uint8_t *const b = low + 16 * (start + j);
            words[j] = (uint64_t)pending->highs[start + j] << 48 | (uint64_t)b[5] << 40 | (uint64_t)b[4] << 32 |
                       (uint64_t)b[3] << 24 | (uint64_t)b[2] << 16 | (uint64_t)b[1] << 8 | (uint64_t)b[0];
        }
        decide_block(law, words, pending->trues + start, answers, count);
        for (size_t j = 0; j < count; ++j) ((DPF_T *)out)[pending->rows[start + j]] = (DPF_T)answers[j];
    }
}

static int DPF_NAME(whole)(const void *codes, const uint64_t *words, void *out, size_t n, const void *prepared) {
    const DPF_LAW *const law = prepared;
    const uint32_t end = law->accept_unknown ? UINT32_MAX : law->k - 1; /* the last code that is answered */
    uint32_t trues[BLOCK], answers[BLOCK], highest = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        const size_t count = n - start < BLOCK ? n - start : BLOCK;
        const DPF_T *const x = (const DPF_T *)codes + start;
        for (size_t j = 0; j < count; ++j) {
            trues[j] = x[j] <= end ? x[j] : 0;
            highest = x[j] > highest ? x[j] : highest;
        }
        decide_block(law, words + start, trues, answers, count);
        for (size_t j = 0; j < count; ++j) ((DPF_T *)out)[start + j] = x[j] <= end ? (DPF_T)answers[j] : (DPF_T)0;
    }
    return highest > end ? DPF_EDOMAIN : DPF_OK;
}

#undef DPF_T
#undef DPF_WIDE
#undef DPF_NAME
#undef DPF_OPEN
