/* Floats of the type DPF_T to grid indices, for a grid whose ends times the step have 31 bits: everything stays in vectors of
 * doubles. The difference of a value and the integer below it is exact, or rounds to one from just below. */
static size_t DPF_JOIN(DPF_NAME, DPF_ISA)(const DPF_T *restrict values, size_t n, double scale, double first, double last,
                                          uint32_t strange, uint32_t *restrict out) {
    const double low = first - 1, high = last + 1;
    size_t strangers = 0;
    for (size_t i = 0; i < n; ++i) {
        const double place = (double)values[i] * scale;
        double inside = place > low ? place : low; /* NaN: low */
        inside = inside < high ? inside : high;
        double whole = (double)(int32_t)inside;
        whole -= inside < whole ? 1.0 : 0.0;
        whole += inside - whole >= 0.5 ? 1.0 : 0.0;
        whole = whole < first ? first : whole;
        whole = whole > last ? last : whole;
        const uint32_t index = (uint32_t)(int32_t)(whole - first);
        out[i] = place == place ? index : strange;
        strangers += place != place;
    }
    return strangers;
}
#undef DPF_T
#undef DPF_NAME
