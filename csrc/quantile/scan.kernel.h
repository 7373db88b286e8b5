/* One pass over values of the type DPF_T, for the SIMD target DPF_ISA. The first loop, for vectors, counts what lies up to the
 * outer limits, with counters DPF_C as wide as the values, so that comparisons and sums have one width. Blocks with anything
 * between the outer limits are read again, value by value and without a branch. */
static void DPF_JOIN(DPF_NAME, DPF_ISA)(const void *values, size_t n, const void *limits, void *kept, uint64_t *counts) {
    const DPF_T *restrict x = values;
    DPF_T *restrict out = kept;
    DPF_T limit[DPF_LIMITS];
    memcpy(limit, limits, sizeof limit);
    const DPF_T l0 = limit[0], l1 = limit[1], l2 = limit[2], l3 = limit[3];
    size_t filled = (size_t)counts[DPF_KEPT], first_sum = 0, second_sum = 0, last_sum = 0, strange_sum = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        const size_t size = n - start < BLOCK ? n - start : BLOCK;
        const DPF_T *restrict block = x + start;
        DPF_C first = 0, last = 0, strange = 0;
        for (size_t i = 0; i < size; ++i) {
            const DPF_T v = block[i];
            first = (DPF_C)(first + (v <= l0));
            last = (DPF_C)(last + (v <= l3));
            strange = (DPF_C)(strange + DPF_IS_STRANGE(v));
        }
        first_sum += first;
        last_sum += last;
        strange_sum += strange;
        if (first == last) {
            second_sum += first;
            continue;
        }
        for (size_t i = 0; i < size; ++i) {
            const DPF_T v = block[i];
            out[filled] = v; /* of i values before at most i are kept, so there is room */
            filled += (size_t)((v > l1) & (v <= l2));
            second_sum += (size_t)(v <= l1);
        }
    }
    counts[DPF_UPTO_FIRST] += first_sum;
    counts[DPF_UPTO_SECOND] += second_sum;
    counts[DPF_UPTO_LAST] += last_sum;
    counts[DPF_NUMBERS] += n - strange_sum;
    counts[DPF_KEPT] = filled;
}
#undef DPF_T
#undef DPF_C
#undef DPF_NAME
#undef DPF_IS_STRANGE
