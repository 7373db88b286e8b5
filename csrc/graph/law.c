#include "law.h"

/* ln 2 in two parts; the high one has 33 bits, so that its product with k, at most 11 bits, is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define INVERSE_LN2 0x1.71547652b82fep+0

/* 1/2!, 1/3!, ..., 1/15!, each within half a unit */
static const double inverse_factorials[] = {
    0.5,
    0.16666666666666666,
    0.041666666666666664,
    0.008333333333333333,
    0.001388888888888889,
    0.0001984126984126984,
    2.48015873015873e-05,
    2.7557319223985893e-06,
    2.755731922398589e-07,
    2.505210838544172e-08,
    2.08767569878681e-09,
    1.6059043836821613e-10,
    1.1470745597729725e-11,
    7.647163731819816e-13,
};

/* e^x = s 2^k with s in (0.7, 1.42) and k; the error of s is below 1.2 units in its last place.
 *
 * r = x - k ln 2 lies within ln 2 / 2 and is known to 2^-70 as a sum of two doubles (x - k LN2_HIGH is exact: a multiple of the
 * unit of x that is below 1/2). With q = e^r - 1 - r, s = 1 + (r + (rest + q)). Errors, in units of 2^-53: q 0.18 (Horner's
 * rounding times r^2 <= 0.121, the first omitted term is below 0.001), q at the first part of r instead of r 0.1, the two inner
 * sums 0.07 and 0.25, the last one 1 for s >= 1 and 0.5 below. Together 1.6 of 2 units for s >= 1, and 1.1 of 1 below. */
static double reduced_exp(double x, int *k_out)
{
    const int k = (int)(x * INVERSE_LN2 + (x < 0.0 ? -0.5 : 0.5));
    const double high = x - k * LN2_HIGH;
    const double low = k * LN2_LOW;
    const double r = high - low;
    const double rest = (high - r) - low;
    double sum = 0.0;
    for (int i = (int)(sizeof inverse_factorials / sizeof *inverse_factorials) - 1; i >= 0; i--) {
        sum = sum * r + inverse_factorials[i];
    }
    *k_out = k;
    return 1.0 + (r + (rest + r * r * sum));
}

static double power_of_two(int k)
{
    return dpf_number((uint64_t)(k + 1023) << 52);
}

/* 1.2 units of error: two units away is on the side that is meant. */
double dpf_weight(double epsilon)
{
    int k;
    if (epsilon <= 709.0) {
        const double s = dpf_number(dpf_bits(reduced_exp(epsilon, &k)) - 2);
        const double e = s * power_of_two(k);
        return e > 1.0 + 0x1p-50 ? e : 1.0;
    }
    if (epsilon > 745.0) {
        return 0x1p-1074; /* the least double; e^-745 is 0.57 of it */
    }
    const double s = dpf_number(dpf_bits(reduced_exp(-epsilon, &k)) + 2);
    /* the second product may be rounded, to a double without all its bits: one unit more */
    return dpf_number(dpf_bits(s * power_of_two(k + 200) * power_of_two(-200)) + 1);
}
