#include "joint.h"

/* r^k for k below span * n_high. */
static dpf_wide power(const dpf_joint_powers *powers, size_t k) {
    return dpf_wide_times(powers->high[k / powers->span], powers->low[k % powers->span]);
}

/* r^|gap - t|. */
static dpf_wide away(const dpf_joint_powers *powers, size_t gap, size_t whole, double near, double far) {
    return gap > whole ? dpf_wide_shrink(power(powers, gap - whole - 1), far) : dpf_wide_shrink(power(powers, whole - gap), near);
}

/* A number as the sum of two doubles, at an exponent: powers by repeated products of these are right to the last bit or two. */
typedef struct {
    double head;
    double tail;
    int32_t e;
} twofold;

static twofold twofold_times(twofold x, twofold y) {
    const double split = 0x1p27 + 1.0; /* Dekker: the halves of a double have 26 bits, and so exact products */
    const double xs = split * x.head, ys = split * y.head;
    const double xh = xs - (xs - x.head), yh = ys - (ys - y.head), xl = x.head - xh, yl = y.head - yh;
    const double head = x.head * y.head;
    const double tail = ((xh * yh - head) + xh * yl + xl * yh) + xl * yl + (x.head * y.tail + x.tail * y.head);
    const double sum = head + tail;
    twofold z = {sum, tail - (sum - head), x.e + y.e};
    if (z.head < 0x1p-100) {
        z.head *= DPF_WIDE_UP;
        z.tail *= DPF_WIDE_UP;
        --z.e;
    }
    if (z.head >= 0x1p412) {
        z.head *= DPF_WIDE_DOWN;
        z.tail *= DPF_WIDE_DOWN;
        ++z.e;
    }
    return z;
}

void dpf_joint_fill_powers(dpf_joint_powers *powers) {
    const dpf_wide one = {1.0, 0};
    const twofold ratio = {powers->ratio, 0.0, 0};
    twofold power = {1.0, 0.0, 0}, stride;
    powers->low[0] = powers->high[0] = one;
    for (size_t k = 1; k <= powers->span; ++k) {
        power = twofold_times(power, ratio);
        powers->low[k] = dpf_wide_settle(power.head, power.e);
    }
    stride = power;
    for (size_t k = 1; k < powers->n_high; ++k) {
        powers->high[k] = dpf_wide_settle(power.head, power.e);
        power = twofold_times(power, stride);
    }
}

/* The far part of cell i: cells up to p = i - whole - 1, which lose a factor r for each step away from the target. Within blocks
 * of span cells by recursion; what earlier blocks leave is carried on block by block, so that no weight meets more than
 * some span + n / span roundings. */
static dpf_wide far_part(dpf_joint_row *row, size_t p) {
    const size_t span = row->powers->span, place = p % span;
    if (place == 0 && p != 0) {
        row->carried = dpf_wide_plus(dpf_wide_times(row->carried, row->powers->low[span]), row->decayed);
        row->decayed = dpf_wide_zero();
    }
    row->decayed = dpf_wide_plus(dpf_wide_shrink(row->decayed, row->powers->ratio), row->before[p]);
    if (row->carried.e < row->decayed.e - 2)
        return row->decayed; /* the rest is less than 2^-512 of it */
    return dpf_wide_plus(row->decayed, dpf_wide_times(row->carried, row->powers->low[place + 1]));
}

/* scratch[p - start] = sum of r^(i' - p) before[i'] over i' = p .. end of the block of p. */
static void suffixes(dpf_joint_row *row, size_t start, size_t size) {
    dpf_wide sum = dpf_wide_zero();
    for (size_t k = size; k-- > 0;) {
        sum = dpf_wide_plus(dpf_wide_shrink(sum, row->powers->ratio), row->before[start + k]);
        row->scratch[k] = sum;
    }
}

/* Blocks first .. last - 1, seen from the start of `first`. */
static dpf_wide whole_blocks(const dpf_joint_row *row, size_t first, size_t last) {
    dpf_wide sum = dpf_wide_zero();
    for (size_t b = last; b-- > first;)
        sum = dpf_wide_plus(dpf_wide_times(sum, row->powers->low[row->powers->span]), row->totals[b]);
    return sum;
}

/* The near part: a window of `whole` cells i - whole .. i - 1, of which the first weighs 1 and each next one r times less. It is the
 * end of one block, whole blocks, and the beginning of another (van Herk), never a difference. Blocks have `size` cells. */
static dpf_wide near_part(dpf_joint_row *row, size_t i, size_t size) {
    const dpf_joint_powers *powers = row->powers;
    const size_t right = i - 1, last = right / size, place = right % size;
    if (place == 0) {
        if (last != 0 && size == powers->span)
            row->totals[last - 1] = row->prefix;
        row->prefix = dpf_wide_zero();
    }
    row->prefix = dpf_wide_plus(row->prefix, dpf_wide_times(row->before[right], powers->low[place]));
    if (i < row->whole) { /* the window begins before the first cell */
        if (place == 0) {
            row->middle = whole_blocks(row, 0, last);
            row->offset = power(powers, last * size);
        }
        return dpf_wide_times(power(powers, row->whole - i),
                              dpf_wide_plus(row->middle, dpf_wide_times(row->offset, row->prefix)));
    }
    const size_t left = i - row->whole, first = left / size, skip = left % size;
    if (skip == 0)
        suffixes(row, left, size < row->n - left ? size : row->n - left);
    if (first == last)
        return row->scratch[skip];
    if (skip == 0 || place == 0) {
        row->middle = whole_blocks(row, first + 1, last);
        row->offset = power(powers, (last - first - 1) * size);
    }
    const dpf_wide end = row->scratch[skip];
    if (row->middle.e < end.e - 2 && row->offset.e + row->prefix.e < end.e - 2)
        return end; /* the rest is less than 2^-512 of it */
    const dpf_wide rest = dpf_wide_plus(row->middle, dpf_wide_times(row->offset, row->prefix));
    return dpf_wide_plus(end, dpf_wide_times(powers->low[size - skip], rest));
}

void dpf_joint_first(const dpf_joint_powers *powers, size_t whole, double near, double far, dpf_wide *after, size_t start,
                     size_t stop) {
    for (size_t i = start; i < stop; ++i)
        after[i] = away(powers, i, whole, near, far);
}

void dpf_joint_advance(dpf_joint_row *row, size_t stop) {
    const size_t span = row->powers->span, whole = row->whole, size = whole < span ? whole : span;
    if (row->at == 0 && stop != 0) {
        row->after[0] = dpf_wide_zero();
        row->decayed = row->carried = row->prefix = row->middle = row->offset = dpf_wide_zero();
        row->at = 1;
    }
    for (size_t i = row->at; i < stop; ++i) {
        dpf_wide sum = dpf_wide_zero();
        if (whole != 0)
            sum = dpf_wide_shrink(near_part(row, i, size), row->near);
        if (i > whole)
            sum = dpf_wide_plus(sum, dpf_wide_shrink(far_part(row, i - whole - 1), row->far));
        row->after[i] = sum;
    }
    row->at = stop > row->at ? stop : row->at;
}

/* Whether x is below 2^-64 of y, or zero. */
static int negligible(dpf_wide x, dpf_wide y) {
    if (x.e != y.e)
        return x.e < y.e - 1 || (x.e == y.e - 1 && x.m * DPF_WIDE_DOWN <= y.m * 0x1p-64);
    return x.m <= y.m * 0x1p-64;
}

/* The placements of two or more of the quantiles 0 .. j in cell i. */
static dpf_wide together(dpf_wide width, const dpf_wide *const *sums, const dpf_wide *stays, size_t j, size_t i) {
    dpf_wide total = dpf_wide_zero(), factor = width;
    for (size_t k = 2; k <= j + 1; ++k) {
        const dpf_wide share = {1.0 / (double)k, 0};
        factor = dpf_wide_times(dpf_wide_times(factor, dpf_wide_times(width, share)), stays[j + 2 - k]);
        total = dpf_wide_plus(total, dpf_wide_times(factor, sums[j + 1 - k][i]));
    }
    return total;
}

void dpf_joint_weights(const double *widths, const dpf_wide *const *sums, const dpf_wide *stays, size_t j, const dpf_wide *before,
                       dpf_wide *weights, uint8_t *crowded, size_t start, size_t stop) {
    for (size_t i = start; i < stop;) {
        const size_t block = i / DPF_JOINT_BLOCK, next = (block + 1) * DPF_JOINT_BLOCK, end = next < stop ? next : stop;
        for (; i < end; ++i) {
            const dpf_wide width = dpf_wide_settle(widths[i], 0);
            weights[i] = dpf_wide_times(width, sums[j][i]);
            if (j == 0)
                continue;
            /* With `before` it is seen at once whether more than one matters: all such placements are at most
             * width / 2 * stay * before. */
            const int full = before == NULL ? crowded[block] : !negligible(dpf_wide_times(stays[j], before[i]), sums[j][i]);
            if (full) {
                weights[i] = dpf_wide_plus(weights[i], together(width, sums, stays, j, i));
                crowded[block] = 1;
            }
        }
    }
}

void dpf_joint_block_sums(const dpf_joint_powers *powers, const dpf_wide *weights, size_t ahead, size_t stop, size_t whole,
                          double near, double far, size_t size, size_t first, size_t last, dpf_wide *out) {
    for (size_t b = first; b < last; ++b) {
        const size_t end = (b + 1) * size < stop ? (b + 1) * size : stop;
        dpf_wide sum = dpf_wide_zero();
        for (size_t i = b * size; i < end; ++i) {
            const size_t gap = ahead - i;
            if (weights[i].m == 0.0)
                continue;
            sum = dpf_wide_plus(sum, dpf_wide_times(weights[i], away(powers, gap, whole, near, far)));
        }
        out[b - first] = sum;
    }
}
