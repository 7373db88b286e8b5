/* Scatter and windows of grid indices of the type DPF_T. */

void DPF_NAME(dpf_group_scatter)(const uint32_t *codes, const DPF_T *values, size_t n, uint64_t *next, DPF_T *out) {
    for (size_t i = 0; i < n; ++i) out[next[codes[i]]++] = values[i];
}

static void DPF_NAME(insertion)(DPF_T *a, size_t n) {
    for (size_t i = 1; i < n; ++i) {
        const DPF_T v = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > v; --j) a[j] = a[j - 1];
        a[j] = v;
    }
}

static void DPF_NAME(sift)(DPF_T *a, size_t root, size_t n) {
    const DPF_T v = a[root];
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        child += child + 1 < n && a[child + 1] > a[child];
        if (a[child] <= v) break;
        a[root] = a[child];
    }
    a[root] = v;
}

static void DPF_NAME(heap)(DPF_T *a, size_t n) {
    for (size_t i = n / 2; i-- > 0;) DPF_NAME(sift)(a, i, n);
    for (size_t end = n; end-- > 1;) {
        const DPF_T v = a[0];
        a[0] = a[end];
        a[end] = v;
        DPF_NAME(sift)(a, 0, end);
    }
}

static inline DPF_T DPF_NAME(middle)(DPF_T a, DPF_T b, DPF_T c) {
    const DPF_T low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Values below the pivot first; returns their number. Without a branch on a value. */
static inline size_t DPF_NAME(part)(DPF_T *a, size_t n, DPF_T pivot) {
    size_t below = 0;
    for (size_t i = 0; i < n; ++i) {
        const DPF_T v = a[i];
        a[i] = a[below];
        a[below] = v;
        below += v < pivot;
    }
    return below;
}

static inline size_t DPF_NAME(part_upto)(DPF_T *a, size_t n, DPF_T pivot) {
    size_t upto = 0;
    for (size_t i = 0; i < n; ++i) {
        const DPF_T v = a[i];
        a[i] = a[upto];
        a[upto] = v;
        upto += v <= pivot;
    }
    return upto;
}

/* Quicksort that leaves alone what does not meet places first .. last - 1. Of two parts the longer one waits, so the stack holds
 * at most the logarithm of n; parts that are cut badly too often are sorted by heap. */
static void DPF_NAME(order)(DPF_T *a, size_t n, size_t first, size_t last) {
    struct {
        size_t low, high, budget;
    } stack[64];
    size_t waiting = 0, low = 0, high = n, budget = 8;
    for (size_t m = n; m > 1; m /= 2) budget += 2;
    for (;;) {
        while (high > first && low < last && high - low > SMALL && budget > 0) {
            const size_t size = high - low, half = low + size / 2, eighth = size / 8;
            DPF_T pivot = DPF_NAME(middle)(a[low], a[half], a[high - 1]);
            if (size > NINTHER)
                pivot = DPF_NAME(middle)(DPF_NAME(middle)(a[low], a[low + eighth], a[low + 2 * eighth]),
                                         DPF_NAME(middle)(a[half - eighth], a[half], a[half + eighth]),
                                         DPF_NAME(middle)(a[high - 1 - 2 * eighth], a[high - 1 - eighth], a[high - 1]));
            const size_t cut = low + DPF_NAME(part)(a + low, size, pivot);
            if (cut == low) { /* nothing below the pivot: what equals it is in place */
                low += DPF_NAME(part_upto)(a + low, size, pivot);
                continue;
            }
            --budget;
            if (cut - low < high - cut) {
                stack[waiting].low = cut;
                stack[waiting].high = high;
                high = cut;
            } else {
                stack[waiting].low = low;
                stack[waiting].high = cut;
                low = cut;
            }
            stack[waiting++].budget = budget;
        }
        if (high > first && low < last) {
            if (high - low > SMALL)
                DPF_NAME(heap)(a + low, high - low);
            else
                DPF_NAME(insertion)(a + low, high - low);
        }
        if (waiting == 0) return;
        --waiting;
        low = stack[waiting].low;
        high = stack[waiting].high;
        budget = stack[waiting].budget;
    }
}

static int DPF_NAME(ascends)(const DPF_T *a, size_t n) {
    for (size_t i = 1; i < n; ++i)
        if (a[i - 1] > a[i]) return 0;
    return 1;
}

size_t DPF_NAME(dpf_group_window)(DPF_T *values, size_t n, size_t first, size_t last, int64_t *points, uint64_t *upto,
                                  uint64_t *below) {
    *below = 0;
    if (first >= last) return 0;
    if (!DPF_NAME(ascends)(values, n)) DPF_NAME(order)(values, n, first, last);
    const DPF_T least = values[first], most = values[last - 1];
    size_t under = first, over = last;
    for (size_t i = 0; i < first; ++i) under -= values[i] == least;
    for (size_t i = last; i < n; ++i) over += values[i] == most;
    *below = under;
    size_t found = 0;
    for (size_t i = first; i < last; ++i) {
        points[found] = (int64_t)values[i];
        upto[found] = i + 1;
        found += i + 1 == last || values[i + 1] != values[i];
    }
    upto[found - 1] = over;
    return found;
}
#undef DPF_T
#undef DPF_NAME
