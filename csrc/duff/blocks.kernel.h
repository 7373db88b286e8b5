/* The work on blocks for the SIMD target DPF_ISA: the same operations in the same order on each, none of them contracted. */

/* Loops of fixed length over arrays in the first cache, one simple thing each: compilers make vectors of them for any target. */

/* The largest of a block; NaN where there is one. */
static double DPF_JOIN(largest_, DPF_ISA)(const double *restrict x) {
    double most[HALF], sum[HALF];
    for (size_t i = 0; i < HALF; ++i) most[i] = x[i] > x[i + HALF] ? x[i] : x[i + HALF];
    /* comparisons lose a NaN; a sum of parts too small to overflow keeps it (and makes one of plus and minus infinity) */
    for (size_t i = 0; i < HALF; ++i) sum[i] = x[i] * 0x1p-12 + x[i + HALF] * 0x1p-12;
    for (size_t half = HALF / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; ++i) most[i] = most[i] > most[i + half] ? most[i] : most[i + half];
        for (size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
    }
    return sum[0] == sum[0] ? most[0] : sum[0];
}

/* The sum of e^(x - top), x <= top, in single precision. From -87 down the terms count as e^-87, which only adds. A power is off by
   less than 2^-16 of itself; in parts of 2^-24: rounding t 87, k ln 2 with its constant 91, the series 2, its evaluation 8. */
static float DPF_JOIN(powers_, DPF_ISA)(const double *restrict x, double top) {
    static const float magic = 0x1.8p23f;
    float t[DPF_BLOCK], p[DPF_BLOCK];
    uint32_t scale[DPF_BLOCK], bits[DPF_BLOCK];
    double low[DPF_BLOCK];
    for (size_t i = 0; i < DPF_BLOCK; ++i) low[i] = x[i] - top > -87.0 ? x[i] - top : -87.0;
    for (size_t i = 0; i < DPF_BLOCK; ++i) t[i] = (float)low[i];
    for (size_t i = 0; i < DPF_BLOCK; ++i) {
        const float shifted = t[i] * 0x1.715476p0f + magic; /* k = round(t log2 e) in the last bits */
        const float r = t[i] - (shifted - magic) * 0x1.62e43p-1f;
        p[i] = 1.0f + r * (1.0f + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
        t[i] = shifted;
    }
    memcpy(scale, t, sizeof scale);
    memcpy(bits, p, sizeof bits);
    for (size_t i = 0; i < DPF_BLOCK; ++i) bits[i] += scale[i] << 23; /* times 2^k; k >= -126 keeps it normal */
    memcpy(p, bits, sizeof p);
    for (size_t half = DPF_BLOCK / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i) p[i] += p[i + half];
    return p[0];
}

static int DPF_JOIN(blocks_, DPF_ISA)(const double *x, size_t n, double *maxima, double *sums) {
    int odd = 0;
    for (size_t block = 0; block * DPF_BLOCK < n; ++block) {
        const double *start = x + block * DPF_BLOCK;
        const size_t left = n - block * DPF_BLOCK;
        double filled[DPF_BLOCK];
        if (left < DPF_BLOCK) {
            for (size_t i = 0; i < DPF_BLOCK; ++i) filled[i] = i < left ? start[i] : -(double)__builtin_inff();
            start = filled;
        }
        const double top = DPF_JOIN(largest_, DPF_ISA)(start);
        maxima[block] = top;
        sums[block] = 0.0;
        odd |= !(top <= DBL_MAX);
        /* the terms are off by less than 2^-16, ten additions by less than 2^-20 */
        if (top >= -DBL_MAX && top <= DBL_MAX) sums[block] = (double)DPF_JOIN(powers_, DPF_ISA)(start, top) * (1.0 + 0x1p-14);
    }
    return odd ? DPF_ELAW : DPF_OK;
}
