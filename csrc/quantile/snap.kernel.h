/* Floats of the type DPF_T to grid indices, for a grid whose ends times the step have 31 bits. Without a branch, so that it is done
 * in vectors. What remains of a number beyond the integer next to it towards zero is exact. */
static size_t DPF_JOIN(DPF_NAME, DPF_ISA)(const DPF_T *restrict values, size_t n, double scale, double first, double last,
                                          uint32_t *restrict out) {
    size_t strangers = 0;
    for (size_t i = 0; i < n; ++i) {
        const double place = (double)values[i] * scale;
        double inside = place > first ? place : first; /* NaN: first */
        inside = inside < last ? inside : last;
        const int32_t whole = (int32_t)inside;
        const double rest = inside - whole;
        const int32_t index = whole + (rest >= 0.5) - (rest < -0.5) - (int32_t)first;
        const uint32_t strange = 0 - (uint32_t)(place != place);
        out[i] = (uint32_t)index | strange;
        strangers += strange & 1;
    }
    return strangers;
}
#undef DPF_T
#undef DPF_NAME
