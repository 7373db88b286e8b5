/* Numbers above zero of any size: a double and a count of 2^512. Sums and products of such numbers keep a relative error of
 * one rounding, however small or large they get; zero is a mantissa of zero. */
#ifndef DPF_JOINT_WIDE_H
#define DPF_JOINT_WIDE_H

#include "dpf.h"

#define DPF_WIDE_UP 0x1p512
#define DPF_WIDE_DOWN 0x1p-512
#define DPF_WIDE_HIGH 0x1p256
#define DPF_WIDE_LOW 0x1p-256
#define DPF_WIDE_ZERO (INT32_MIN / 4) /* the exponent of zero: below that of any other number */

typedef struct {
    double m;  /* 0, or from 2^-256 up to 2^256 */
    int32_t e; /* the number is m times 2^(512 e) */
} dpf_wide;

static inline dpf_wide dpf_wide_zero(void) {
    const dpf_wide zero = {0.0, DPF_WIDE_ZERO};
    return zero;
}

/* A mantissa between 2^-768 and 2^768, brought into its range. */
static inline dpf_wide dpf_wide_settle(double m, int32_t e) {
    if (m >= DPF_WIDE_HIGH) {
        m *= DPF_WIDE_DOWN;
        ++e;
    } else if (m < DPF_WIDE_LOW) {
        if (m == 0.0)
            return dpf_wide_zero();
        m *= DPF_WIDE_UP;
        --e;
    }
    const dpf_wide x = {m, e};
    return x;
}

static inline dpf_wide dpf_wide_times(dpf_wide x, dpf_wide y) {
    return dpf_wide_settle(x.m * y.m, x.m == 0.0 || y.m == 0.0 ? DPF_WIDE_ZERO : x.e + y.e);
}

/* By a double from 2^-256 up to 1. */
static inline dpf_wide dpf_wide_shrink(dpf_wide x, double factor) { return dpf_wide_settle(x.m * factor, x.e); }

/* What lies two exponents lower is less than 2^-512 of the sum. */
static inline dpf_wide dpf_wide_plus(dpf_wide x, dpf_wide y) {
    if (x.e == y.e)
        return dpf_wide_settle(x.m + y.m, x.e);
    if (x.e < y.e) {
        const dpf_wide other = x;
        x = y;
        y = other;
    }
    return x.e - y.e == 1 ? dpf_wide_settle(x.m + y.m * DPF_WIDE_DOWN, x.e) : x;
}

#endif
